"""The map of a change: old ids to new ones, and new tokens to the old ids that spelled them.

It moves the rows of matrices (embeddings, output layers) to the new ids.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bpetite._constants import Pair
from bpetite._internal.arguments import UnknownTokenError, check_path, check_type
from bpetite._internal.files import contents, write_all
from bpetite._internal.integers import counted
from bpetite._internal.json import naming, parse_object, typed, written
from bpetite._internal.lazy import needed
from bpetite._internal.lazy import numpy as np
from bpetite._internal.record import Record, derived
from bpetite._internal.types import AnyPath
from bpetite.encoding.encoder import encoder_of
from bpetite.surgery.pruning import contents_of, ids_of
from bpetite.vocabulary import LARGEST_ID, Vocabulary

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bpetite.counts.counts import Tokenizing

_KIND = "bpetite token map"


class TokenMap(Record):
    """What became of each id when a vocabulary was changed.

    >>> token_map = TokenMap({0: 0, 1: None, 2: 1}, {2: (0, 1)})
    >>> token_map[2], token_map[1], token_map.parts[2]
    (1, None, (0, 1))
    >>> token_map.rows([[1.0], [2.0], [3.0]]).tolist()
    [[1.0], [3.0], [1.5]]
    """

    ids: Mapping[int, int | None]
    """The new id of every old one; None if its token is gone."""

    parts: Mapping[int, Sequence[int]] = MappingProxyType({})
    """The old ids that spelled each new token, by its id."""

    old_size: int = derived()
    """The largest old id plus one: the rows that a matrix needs."""

    new_size: int = derived()
    """The largest new id plus one."""

    def __post_init__(self) -> None:
        check_type("ids", self.ids, Mapping, "a mapping")
        check_type("parts", self.parts, Mapping, "a mapping")
        moved = {old: new for old, new in self.ids.items() if new is not None}
        _check_ids("ids", [*self.ids, *moved.values()])
        if len(set(moved.values())) < len(moved):
            raise ValueError("ids: two old ids have the same new id")
        parts = {new: _listed("parts", old_ids) for new, old_ids in self.parts.items()}
        _check_ids("parts", [*parts, *chain.from_iterable(parts.values())])
        for new, old_ids in parts.items():
            for old in old_ids:
                if old not in self.ids:
                    raise ValueError(
                        f"parts: new id {new} is spelled by {old}, which ids do not have"
                    )
        if twice := sorted(parts.keys() & moved.values()):
            raise ValueError(f"parts: {twice[0]} is the new id of an old token, too")
        self.__dict__.update(
            ids=MappingProxyType(dict(sorted(self.ids.items()))),
            parts=MappingProxyType(dict(sorted(parts.items()))),
            old_size=max(self.ids, default=-1) + 1,
            new_size=max([*moved.values(), *parts], default=-1) + 1,
        )

    @staticmethod
    def between(
        before: Tokenizing, after: Tokenizing, moved: Mapping[int, int] | None = None
    ) -> TokenMap:
        """Return the map from one tokenizer to another, of which `moved` says what each kept id became.

        By default, a token is kept if both have it (`kept_ids`). A token of any other id is new: it is
        spelled by the tokens that its merges are made of, and a new special token by the ids of its
        text.

        >>> from bpetite import Tokenizer
        >>> before = Tokenizer.train("ab ab", 257)
        >>> TokenMap.between(before, before.extend(["abc"], add=1)).parts
        mappingproxy({258: (256, 99)})
        """
        if moved is None:
            moved = kept_ids(before.vocabulary, after.vocabulary)
        old_id_of = {new: old for old, new in moved.items()}
        pair_of: dict[int, Pair] = {}
        for pair, made in zip(after.vocabulary.merges, after.vocabulary.merge_ids, strict=True):
            pair_of.setdefault(made, pair)
        text_of = {own: text for text, own in after.vocabulary.special_tokens.items()}
        encoder = None
        parts: dict[int, Sequence[int]] = {}
        for token_id in ids_of(after.vocabulary):
            if token_id in old_id_of:
                continue
            if token_id in text_of:
                encoder = encoder or encoder_of(before.vocabulary)
                parts[token_id] = encoder.encode(text_of[token_id], "text")
            else:
                parts[token_id] = tuple(_spelled(token_id, pair_of, old_id_of))
        return TokenMap({old: moved.get(old) for old in ids_of(before.vocabulary)}, parts)

    def __getitem__(self, old_id: int) -> int | None:
        """Return the new id of an old one, or None if its token is gone."""
        try:
            return self.ids[old_id]
        except KeyError:
            raise UnknownTokenError(f"no token had the id {old_id}") from None

    def __reduce__(self) -> tuple[object, ...]:
        return TokenMap, (dict(self.ids), dict(self.parts))

    def rows(self, matrix: ArrayLike) -> NDArray[Any]:
        """Return the rows of a matrix of the old ids for the new ids.

        The row of a kept token is copied; that of a new one is the mean of the rows of its parts, in
        the type of the matrix (of floats below 32 bits, the mean is computed with 32). An id that no
        token has gets zeros. Rows behind the last old id, which fill up many matrices, stay behind
        the last new one.

        >>> TokenMap({0: 0, 1: 3}).rows([[1, 2], [3, 4]]).tolist()
        [[1, 2], [0, 0], [0, 0], [3, 4]]
        """
        old = np.asarray(matrix)
        if old.ndim == 0 or len(old) < self.old_size:
            count = "none" if old.ndim == 0 else len(old)
            raise ValueError(f"matrix: it has {count} rows, and the map is of {self.old_size} ids")
        if self.parts and old.dtype.kind in "biuOSUMm":
            raise TypeError(f"matrix: the rows of {old.dtype} have no mean; convert it to floats")
        shape = (self.new_size + len(old) - self.old_size, *old.shape[1:])
        new = np.zeros(shape, dtype=old.dtype)
        moved = [(old_id, new_id) for old_id, new_id in self.ids.items() if new_id is not None]
        if moved:
            old_ids, new_ids = np.array(moved).T
            new[new_ids] = old[old_ids]
        precise = np.result_type(old.dtype, np.float32) if self.parts else old.dtype
        for new_id, parts in self.parts.items():
            if parts:
                new[new_id] = old[list(parts)].mean(axis=0, dtype=precise)
        new[self.new_size :] = old[self.old_size :]
        return new

    def save(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Save as JSON, or as Parquet if the name ends in `.parquet`; no partial file is ever left.

        Parquet has a row for each old id (`old_id` and `new_id`, which is null if the token is gone)
        and for each new token (`new_id` and `parts`).

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     TokenMap({0: 1}).save(f"{folder}/map.json")
        ...     TokenMap.load(f"{folder}/map.json")[0]
        1
        """
        check_path("path", path)
        is_parquet = os.fspath(path).endswith(".parquet")
        content = self._to_parquet() if is_parquet else self._to_json()
        write_all({path: content}, overwrite=overwrite)

    @staticmethod
    def load(path: AnyPath) -> TokenMap:
        """Load and check a map that was saved.

        >>> TokenMap.load("missing.json")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.json'
        """
        check_path("path", path)
        content = contents(path)
        with naming(path):
            if content.startswith(b"PAR1"):
                return _of_parquet(content)
            document = parse_object(path, content, "a token map")
            if document.keys() != {"kind", "ids", "parts"} or document["kind"] != _KIND:
                raise ValueError(f"it is no token map: kind is {document.get('kind')!r:.80}")
            return TokenMap(_by_id("ids", document["ids"]), _by_id("parts", document["parts"]))

    def _to_json(self) -> bytes:
        return written({"kind": _KIND, "ids": self.ids, "parts": self.parts})

    def _to_parquet(self) -> bytes:
        arrow, parquet = _parquet()
        none_gone, none_new = [None] * len(self.ids), [None] * len(self.parts)
        columns = {
            "old_id": arrow.array([*self.ids, *none_new], arrow.int64()),
            "new_id": arrow.array([*self.ids.values(), *self.parts], arrow.int64()),
            "parts": arrow.array(
                [*none_gone, *map(list, self.parts.values())], arrow.list_(arrow.int64())
            ),
        }
        file = io.BytesIO()
        parquet.write_table(arrow.table(columns), file)
        return file.getvalue()

    def __repr__(self) -> str:
        gone = sum(new is None for new in self.ids.values())
        return (
            f"TokenMap({counted(len(self.ids), 'old token')}, {gone:,} of them gone, "
            f"{counted(len(self.parts), 'new token')})"
        )


def _spelled(
    token_id: int, pair_of: Mapping[int, Pair], old_id_of: Mapping[int, int]
) -> Iterator[int]:
    """Yield the old ids that a new token is spelled by.

    >>> list(_spelled(300, {300: (299, 98), 299: (97, 98)}, {97: 0, 98: 1}))
    [0, 1, 1]
    """
    waiting = [token_id]
    while waiting:
        part = waiting.pop()
        if part in old_id_of:
            yield old_id_of[part]
        else:
            waiting += reversed(pair_of.get(part, ()))


def kept_ids(before: Vocabulary, after: Vocabulary) -> dict[int, int]:
    """Return the new ids of the tokens that two vocabularies have: the same with the same bytes, and those
    of special tokens by their texts.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)}
    >>> before = Vocabulary({**tokens, 256: b"ab"}, [(97, 98)], {"<s>": 257})
    >>> kept = kept_ids(before, Vocabulary(tokens, [], {"<s>": 256}))
    >>> kept[97], kept.get(256), kept[257]
    (97, None, 256)
    """
    same_others = (before.special_tokens, before.decode_only) == (
        after.special_tokens,
        after.decode_only,
    )
    if same_others and not before.provisional and after.arrays.begins_with(before.arrays):
        return {own: own for own in ids_of(before)}
    old, new = contents_of(before), contents_of(after)
    kept = {own: own for own in ids_of(before) if old[own] == new.get(own)}
    specials = after.special_tokens
    moved = {own: specials[text] for text, own in before.special_tokens.items() if text in specials}
    return kept | moved


def _check_ids(name: str, ids: Iterable[Any]) -> None:
    for token_id in ids:
        if type(token_id) is not int or not 0 <= token_id <= LARGEST_ID:
            raise ValueError(f"{name}: {token_id!r:.80} is not an id from 0 to {LARGEST_ID}")


def _listed(name: str, ids: Any) -> tuple[Any, ...]:
    if not isinstance(ids, Sequence) or isinstance(ids, str | bytes):
        raise ValueError(f"{name} must be lists of ids, not {ids!r:.80}")
    return tuple(ids)


def _by_id(name: str, entries: Any) -> dict[int, Any]:
    """Return the entries of an object in JSON, whose names are ids."""
    for key in typed(entries, dict, name):
        if not key.isdecimal() or str(int(key)) != key:
            raise ValueError(f"{name}: {key!r:.80} is not an id from 0 to {LARGEST_ID}")
    return {int(key): value for key, value in entries.items()}


def _of_parquet(content: bytes) -> TokenMap:
    arrow, parquet = _parquet()
    try:
        rows = parquet.read_table(io.BytesIO(content)).to_pylist()
        ids = {row["old_id"]: row["new_id"] for row in rows if row["parts"] is None}
        parts = {row["new_id"]: row["parts"] for row in rows if row["parts"] is not None}
    except (arrow.ArrowException, KeyError, OSError) as error:
        raise ValueError(f"it is no token map: {error!s:.200}") from None
    if len(ids) + len(parts) < len(rows):
        raise ValueError("an id appears twice")
    return TokenMap(ids, parts)


def _parquet() -> tuple[Any, Any]:
    arrow = needed("pyarrow", "a token map in Parquet")
    return arrow, needed("pyarrow.parquet", "a token map in Parquet")
