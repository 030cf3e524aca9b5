"""The engine's encoder for vocabularies whose texts are prepared before they are encoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, islice, pairwise
from typing import Any

from bpetite._engine import DecodeStream, Encoder, check_text
from bpetite._internal.arguments import several
from bpetite._internal.lazy import numpy as np
from bpetite._internal.types import DType, Progress, Special, Unit
from bpetite.encoding.growing import GrowingPrepared
from bpetite.encoding.preparation import Preparation, Segment
from bpetite.encoding.prepared_stream import PreparedStream
from bpetite.encoding.stateful import Stateful
from bpetite.vocabulary import Vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray


class PreparedEncoder:
    """The engine's encoder behind a preparation of its texts."""

    def __init__(self, encoder: Encoder, vocabulary: Vocabulary) -> None:
        self._encoder = encoder
        self._ordinary = encoder.with_special_tokens([])
        self._preparation = Preparation.of(vocabulary)
        is_plain = vocabulary.normalization is None and not vocabulary.token_flags
        self._is_streamable = is_plain and self._preparation.is_simple
        self._drops_space = vocabulary.drops_space
        self._has_unknown = vocabulary.unknown is not None or vocabulary.drops_missing
        self._restores_text = not self._has_unknown and "(?bytes)" not in vocabulary.pattern
        self.token_bytes = encoder.token_bytes

    def decode(self, ids: Any, errors: str = "strict") -> str:
        """Decode ids."""
        if self._drops_space == "all":
            return self.decode_bytes(ids).decode("utf-8", errors)
        text = self._encoder.decode(ids, errors)
        return text.removeprefix(" ") if self._drops_space else text

    def decode_bytes(self, ids: Any) -> bytes:
        """Decode ids to bytes."""
        if isinstance(ids, Iterator):
            ids = [*ids]
        joined = self._encoder.decode_bytes(ids)
        if self._drops_space == "all":
            first = self._encoder.decode_bytes([*islice(ids, 1)])
            return first.replace(b" ", b"") + joined[len(first) :]
        return joined.removeprefix(b" ") if self._drops_space else joined

    def decode_batch(self, batch: Iterable[Any], errors: str = "strict") -> list[str]:
        """Decode several rows of ids."""
        if self._drops_space == "all":
            return [self.decode(ids, errors) for ids in several("batch", "lists of ids", batch)]
        texts = self._encoder.decode_batch(batch, errors)
        return [text.removeprefix(" ") for text in texts] if self._drops_space else texts

    def encode(self, text: str, special: Special = "parse", num_threads: int | None = None) -> list[int]:
        """Encode a text."""
        parts = self._parts(text, special)
        if parts is None:
            return self._encoder.encode(text, special, num_threads)
        ids: list[int] = []
        for part in parts:
            ids += [part] if isinstance(part, int) else self._ordinary.encode(part, "parse", num_threads)
        return ids

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode a text; special tokens are treated as text."""
        return self.encode(text, "text")

    def encode_batch(
        self, texts: Iterable[str | bytes], special: Special = "parse", num_threads: int | None = None
    ) -> list[list[int]]:
        """Encode texts."""
        decoded = _decoded(texts)
        if all(map(self._preparation.changes_nothing, decoded)):
            return self._encoder.encode_batch(decoded, special, num_threads)
        plans = [self._parts(text, special) for text in decoded]
        whole = iter(self._encoder.encode_batch(_whole_of(decoded, plans), special, num_threads))
        rows = iter(self._ordinary.encode_batch(_ordinary_of(plans), "parse", num_threads))
        return [
            next(whole)
            if plan is None
            else _joined([[part] if isinstance(part, int) else next(rows) for part in plan])
            for plan in plans
        ]

    def encode_to_numpy(
        self, text: str, special: Special = "parse", dtype: DType = "uint32", num_threads: int | None = None
    ) -> NDArray[Any]:
        """Encode a text into an array."""
        parts = self._parts(text, special)
        if parts is None:
            return self._encoder.encode_to_numpy(text, special, dtype, num_threads)
        rows = [
            np.array([part], dtype)
            if isinstance(part, int)
            else self._ordinary.encode_to_numpy(part, "parse", dtype, num_threads)
            for part in parts
        ]
        return np.concatenate([self._encoder.encode_to_numpy("", special, dtype), *rows])

    def encode_batch_to_numpy(
        self,
        texts: Iterable[str | bytes],
        special: Special = "parse",
        dtype: DType = "uint32",
        num_threads: int | None = None,
        append: int | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Encode texts into one array of ids, and return also the offsets of each text in it."""
        decoded = _decoded(texts)
        if all(map(self._preparation.changes_nothing, decoded)):
            return self._encoder.encode_batch_to_numpy(decoded, special, dtype, num_threads, append)
        plans = [self._parts(text, special) for text in decoded]
        taken = self._encoder.encode_batch_to_numpy(_whole_of(decoded, plans), special, dtype, num_threads)
        whole = _rows(*taken)
        cut = self._ordinary.encode_batch_to_numpy(_ordinary_of(plans), "parse", dtype, num_threads)
        rows = _rows(*cut)
        last = [] if append is None else [np.array([append], dtype)]
        if append is not None:
            self._encoder.token_bytes(append)
        pieces = [
            ([next(whole)] if plan is None else [_row(part, rows, dtype) for part in plan]) + last
            for plan in plans
        ]
        offsets = np.cumsum([0, *(sum(map(len, row)) for row in pieces)], dtype=np.uint64)
        return np.concatenate([np.empty(0, dtype), *chain.from_iterable(pieces)]), offsets

    def encode_into(
        self,
        texts: Iterable[str | bytes],
        row: NDArray[Any] | None = None,
        special: Special = "parse",
        dtype: DType = "uint32",
        append: int | None = None,
        progress: Progress | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Encode texts on one thread into a new array; the given one is not used."""
        return self.encode_batch_to_numpy(texts, special, dtype, 1, append)

    def encode_with_offsets(
        self, text: str, special: Special = "parse", unit: Unit = "characters"
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Encode a text; the place of a token is that of its text before normalization."""
        if unit not in ("characters", "bytes"):
            raise ValueError(f"unit: must be characters or bytes, not {unit!r}")
        if self._has_unknown:
            self._encoder.encode_with_offsets("")  # refuses it
        self._check(text, special)
        text.encode("utf-8")
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        for segment in self._preparation.segments(text, special):
            if segment.token_id is not None:
                found = [segment.token_id]
                spans.append((segment.places[0][0], segment.places[-1][1]))
            else:
                found = self._ordinary.encode(segment.text)
                segment = self._preparation.with_spaces(segment)
                spans += token_places(segment, [len(self._encoder.token_bytes(n)) for n in found])
            ids += found
        if unit == "bytes":
            ends = [0, *accumulate(len(character.encode("utf-8")) for character in text)]
            spans = [(ends[start], ends[end]) for start, end in spans]
        return ids, spans

    def encode_stream(self, special: Special = "parse") -> Any:
        """Begin a text that arrives in pieces."""
        stream = self._encoder.encode_stream(special)
        if self._is_streamable:
            return stream
        return PreparedStream(self._ordinary, self._preparation, special)

    def growing(self, special: Special = "parse") -> Any:
        """Begin with an empty text that grows."""
        if self._is_streamable:
            return self._encoder.growing(special)
        engine = self._ordinary if self._restores_text else None
        return GrowingPrepared(self, engine, self._preparation, special)

    def count(self, text: str, special: Special = "parse", num_threads: int | None = None) -> int:
        """Return the number of ids of a text."""
        parts = self._parts(text, special)
        if parts is None:
            return self._encoder.count(text, special, num_threads)
        return sum(
            1 if isinstance(part, int) else self._ordinary.count(part, "parse", num_threads) for part in parts
        )

    def count_batch(
        self, texts: Iterable[str | bytes], special: Special = "parse", num_threads: int | None = None
    ) -> list[int]:
        """Return the number of ids of each text."""
        decoded = _decoded(texts)
        plans = [self._parts(text, special) for text in decoded]
        whole = iter(self._encoder.count_batch(_whole_of(decoded, plans), special, num_threads))
        rows = iter(self._ordinary.count_batch(_ordinary_of(plans), "parse", num_threads))
        return [
            next(whole) if plan is None else sum(1 if isinstance(part, int) else next(rows) for part in plan)
            for plan in plans
        ]

    def decode_stream(self, errors: str = "strict") -> Any:
        """Begin a text whose ids arrive one by one."""
        stream = self._encoder.decode_stream(errors)
        return _WithoutSpace(stream, drops_all=self._drops_space == "all") if self._drops_space else stream

    def _parts(self, text: str, special: Special) -> list[str | int] | None:
        """Cut a text into ids of special tokens and ordinary text; None if the engine takes it as it is."""
        self._check(text, special)
        if self._preparation.changes_nothing(text):
            return None
        text.encode("utf-8")  # The error of a lone surrogate names its place in the whole text.
        parts = self._preparation.parts(text, special)
        return [part if token_id is None else token_id for part, token_id in parts]

    def _check(self, text: str, special: Special) -> None:
        """Refuse what is no text, and what is no way to treat special tokens, as the engine does."""
        check_text(text)
        self._encoder.count("", special)


class _WithoutSpace(Stateful):
    """A stream of ids whose text omits a space at its beginning."""

    _copied = ("_stream",)

    def __init__(self, stream: DecodeStream, *, drops_all: bool) -> None:
        """`drops_all` spaces of the first token, or one at the beginning."""
        self._stream = stream
        self._drops_all = drops_all
        self._is_first = True

    def push(self, ids: Any) -> str:
        """Take one id, or several, and return the text that is now complete."""
        if not (self._drops_all and self._is_first):
            return self._after_space(self._stream.push(ids))
        is_several = hasattr(ids, "__iter__") and not isinstance(ids, str)
        listed = [*ids] if is_several else [ids]
        first = self._stream.push(listed[:1]).replace(" ", "")
        self._is_first = len(listed) == 0
        return first + self._stream.push(listed[1:])

    def finish(self) -> str:
        """Return the rest. A new text may then begin."""
        rest = self._after_space(self._stream.finish())
        self._is_first = True
        return rest

    def _after_space(self, text: str) -> str:
        if not text or not self._is_first:
            return text
        self._is_first = False
        return text.removeprefix(" ")


def token_places(segment: Segment, lengths: Iterable[int]) -> list[tuple[int, int]]:
    """Return the place of each of a segment's tokens, whose lengths are in bytes.

    >>> token_places(Segment("é!", [(3, 5), (5, 6)]), [1, 1, 1])
    [(3, 5), (3, 5), (5, 6)]
    """
    of_byte = [
        place for character, place in zip(segment.text, segment.places, strict=True)
        for _ in character.encode("utf-8")
    ]  # fmt: skip
    ends = list(accumulate(lengths))
    return [(of_byte[start][0], of_byte[end - 1][1]) for start, end in zip([0, *ends], ends, strict=False)]


def _whole_of(texts: list[str], plans: list[list[str | int] | None]) -> list[str]:
    """Return the texts that the engine takes as they are."""
    return [text for text, plan in zip(texts, plans, strict=True) if plan is None]


def _ordinary_of(plans: list[list[str | int] | None]) -> list[str]:
    """Return the ordinary text in the other texts."""
    return [part for plan in plans if plan for part in plan if isinstance(part, str)]


def _joined(lists: list[list[int]]) -> list[int]:
    """Join lists of ids; a single one, as most texts have, is returned as it is."""
    return lists[0] if len(lists) == 1 else [*chain.from_iterable(lists)]


def _rows(ids: NDArray[Any], offsets: NDArray[np.uint64]) -> Iterator[NDArray[Any]]:
    """Yield the ids of each text of a batch."""
    return (ids[start:end] for start, end in pairwise(offsets.tolist()))


def _row(part: str | int, rows: Iterator[NDArray[Any]], dtype: DType) -> NDArray[Any]:
    return np.array([part], dtype) if isinstance(part, int) else next(rows)


def _decoded(texts: Iterable[str | bytes]) -> list[str]:
    """Return the texts of a batch; what is not text is refused as the engine refuses it."""
    if isinstance(texts, str | bytes):
        raise TypeError(f"texts: one {type(texts).__name__} was given where several are expected")
    return [_text(place, text) for place, text in enumerate(several("texts", "str or bytes", texts))]


def _text(place: int, text: object) -> str:
    if isinstance(text, str):
        return text
    if not isinstance(text, bytes):
        raise TypeError(f"texts: item {place} must be str or bytes, not {type(text).__name__}")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"text {place}: not valid UTF-8 at byte {error.start}") from None
