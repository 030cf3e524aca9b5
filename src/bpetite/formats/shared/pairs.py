"""Makes vocabularies of tokens with ids and merges as pairs, in printable form or made of characters.

The engine computes everything: some files list every way to cut each token in two, half a million
in all.
"""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress, count, groupby, islice
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from bpetite._constants import SPACE, Pair, Pattern
from bpetite._engine import (
    listed_merges,
    merges_that_happen,
    read_pieces,
    read_printed,
    recover_merges,
)
from bpetite.dialect import Dialect
from bpetite.formats.shared.imported import IN_TEXTS
from bpetite.formats.shared.printable import printable_or_text
from bpetite.patterns import PATTERNS, pattern_steps
from bpetite.vocabulary import LARGEST_ID, MARK, WORD_END, WORD_START, Arrays, Vocabulary

Repeated = Literal["last", "first"]
"""The rank of a pair that is listed more than once: that of its first or last place."""

_WITHIN, _BETWEEN = b"\xfe", b"\xff"
"""The bytes between the two parts of a merge, and between merges, in the packed form that the engine reads;
UTF-8 never has these bytes."""


def check_ids(ids: Mapping[str, object], where: str = "") -> None:
    """Refuse numbers of tokens that are no ids, or that two tokens have.

    >>> check_ids({"a": 5, "b": 5}, "model.vocab: ")
    Traceback (most recent call last):
    ValueError: model.vocab: id 5 is given to 'a' and 'b'
    """
    owner: dict[object, str] = {}
    for text, token_id in ids.items():
        if type(token_id) is not int or not 0 <= token_id <= LARGEST_ID:
            raise ValueError(
                f"{where}the id of {text!r:.80} is {token_id!r:.80}, not a number from 0 to {LARGEST_ID}"
            )
        if owner.setdefault(token_id, text) != text:
            raise ValueError(
                f"{where}id {token_id} is given to {owner[token_id]!r:.80} and {text!r:.80}"
            )


def vocabulary_of_pairs(
    ids: dict[str, int],
    merges: bytes,
    *,
    place: Callable[[int], str] = "merge {}".format,
    repeated: Repeated = "last",
    cut_out: Collection[str] = (),
    suffix: str = "",
    **fields: Any,
) -> Vocabulary:
    """Make the vocabulary; errors name the `place` of the merge of a rank.

    `ids` are those of all tokens but the special ones; `merges` are packed (`packed_merges`);
    `fields` are all others of the vocabulary. Tokens with characters that stand for no byte are
    only decoded, as their own library decodes them. Merges with tokens that are `cut_out` of texts
    before do not count.

    A pair that is listed again has the rank of its last place, or of its first, as it has for the
    library that the file is for. Where merges stand before those of their parents,
    those that never happen are left out: at most one merge of each token happens.

    A token whose name has the `suffix` stands at the end of a word.
    """
    marked, merges, decode_only = _with_marks(ids, merges, suffix, _PRINTED_END)
    tokens, others = read_printed(marked)
    rows = rows_of_pairs(marked, merges, others, place=place, cut_out=cut_out, repeated=repeated)
    if suffix:
        free = max([*ids.values(), *fields["special_tokens"].values()], default=-1) + 1
        tokens, first_rows = _with_ends(Arrays(*tokens), free)
        rows = first_rows + rows
        fields["provisional"] = [token_id for token_id in array("I", tokens[0]) if token_id >= free]
    arrays = Arrays(*tokens, merges_that_happen(*tokens, rows))
    decode_only |= texts_of(ids, others)
    return Vocabulary.of_arrays(arrays, irregular=True, decode_only=decode_only, **fields)


# Tokens at the end of words, whose names have a suffix
# ----------------------------------------------------

_PRINTED_END = "\u00ff"
"""How the mark for the end of a word is spelled among printable bytes; as a byte, no text has it."""
_CHARACTER_END = "\U0010ffff\U0010ffff"
"""How it is spelled among characters, as the engine reads them: two that no text has."""


def _with_marks(
    ids: dict[str, int], merges: bytes, suffix: str, mark: str
) -> tuple[dict[str, int], bytes, dict[int, bytes]]:
    """Put a mark in the place of the suffix in names and merges.

    Returns also the tokens that no text becomes, as their names have the mark themselves.

    >>> _with_marks({"a": 1, "b</w>": 2, "\u00ff": 3}, b"a\\xfeb</w>", "</w>", "\u00ff")
    ({'a': 1, 'b\u00ff': 2}, b'a\\xfeb\\xc3\\xbf', {3: b'\\xff'})
    """
    if not suffix:
        return ids, merges, {}
    written = mark.encode("utf-8")
    if has_part(merges, suffix) or written in merges:
        raise ValueError(
            f"a merge has {suffix!r:.80} or {mark!r} alone, which mark the end of a word"
        )
    marked = {}
    decode_only = {}
    for name, token_id in ids.items():
        word = name.removesuffix(suffix)
        if mark in name:
            decode_only[token_id] = printable_or_text(name)
        else:
            marked[word + mark if word and word != name else name] = token_id
    merges += _BETWEEN
    for end in (_WITHIN, _BETWEEN):
        merges = merges.replace(suffix.encode("utf-8") + end, written + end)
    return marked, merges.removesuffix(_BETWEEN), decode_only


_CHARACTER_START = "\U0010ffff\U0010ffff"
"""How the mark for the beginning of a word is spelled among characters, as the engine reads them."""


def _with_starts(
    ids: dict[str, int], merges: bytes, prefix: str, place: Callable[[int], str]
) -> tuple[dict[str, int], bytes, dict[int, bytes]]:
    """Put a mark before names without the prefix of tokens within words, and leave out the prefix.

    Returns also the tokens that no text becomes, as their names have the mark itself, or nothing
    behind the prefix.

    >>> marked, merges, _ = _with_starts({"a": 1, "##b": 2, "ab": 3}, b"a\\xfe##b", "##", str)
    >>> list(marked) == [f"{_CHARACTER_START}a", "b", f"{_CHARACTER_START}ab"], merges[-2:]
    (True, b'\\xfeb')
    """
    marked = {}
    decode_only = {}
    for name, token_id in ids.items():
        if _CHARACTER_START in name or name == prefix:
            decode_only[token_id] = name.encode("utf-8")
        elif name.startswith(prefix):
            marked[name.removeprefix(prefix)] = token_id
        else:
            marked[_CHARACTER_START + name] = token_id
    packed = []
    for rank, parts in enumerate(parts_of(merges)):
        if len(parts) != 2 or not parts[1].startswith(prefix) or parts[1] == prefix:
            raise ValueError(
                f"{place(rank)}: {' '.join(parts)!r:.80} is not a pair of tokens whose second begins "
                f"with {prefix!r:.80}"
            )
        left, right = parts
        is_within = left.startswith(prefix)
        made = left + right.removeprefix(prefix)
        if _CHARACTER_START in made or left == prefix or made.startswith(prefix) != is_within:
            raise ValueError(
                f"{place(rank)}: {' '.join(parts)!r:.80} makes {made!r:.80} of the first characters of a "
                f"word, and {prefix!r:.80} marks the tokens within words"
            )
        begun = left.removeprefix(prefix) if is_within else _CHARACTER_START + left
        pair = (begun, right.removeprefix(prefix))
        packed.append(_WITHIN.join(part.encode("utf-8") for part in pair))
    return marked, _BETWEEN.join(packed), decode_only


def _with_ends(arrays: Arrays, free: int) -> tuple[tuple[bytes, bytes, bytes], bytes]:
    """Add the mark of the end of a word to byte-level tokens, with ids from `free` on; return also the merges
    of each byte with it, which come first. What these make that is no token is provisional.
    """
    tokens = dict(arrays.to_tokens())
    id_of_byte = {token: token_id for token_id, token in tokens.items() if len(token) == 1}
    id_at_end = {token: token_id for token_id, token in tokens.items() if token[1:] == WORD_END}
    tokens[free] = WORD_END
    free_ids = count(free + 1)
    rows = array("I")
    for byte, token_id in id_of_byte.items():
        end_id = id_at_end.pop(byte + WORD_END, None)
        if end_id is None:
            end_id = next(free_ids)
            tokens[end_id] = byte + WORD_END
        rows.extend((token_id, free, end_id))
    if id_at_end:
        byte = min(id_at_end)[:1]
        raise ValueError(f"byte {byte.hex()} has a token only at the end of words")
    with_ends = Arrays.of(tokens)
    return (with_ends.ids, with_ends.tokens, with_ends.ends), rows.tobytes()


def texts_of(ids: dict[str, int], listed: Collection[int]) -> dict[int, bytes]:
    """Return the texts of some tokens.

    >>> texts_of({"a": 5, "b": 7}, [7])
    {7: b'b'}
    """
    if not listed:
        return {}
    wanted = set(listed)
    return {token_id: text.encode("utf-8") for text, token_id in ids.items() if token_id in wanted}


def rows_of_pairs(
    ids: dict[str, int],
    merges: bytes,
    only_decoded: Collection[int],
    *,
    place: Callable[[int], str],
    cut_out: Collection[str] = (),
    repeated: Repeated = "last",
) -> bytes:
    """Find the tokens of merges; return rows of left, right and result.

    Errors name the `place` of a merge. Merges with tokens that are `only_decoded` are left out, as
    no text has them.
    """
    apart = [text for text in cut_out if text not in ids]
    takes_last = repeated != "first"
    rows, no_pair, unknown, _ = listed_merges(ids, merges, takes_last, set(only_decoded), apart)

    def parts(rank: int) -> list[str]:
        return next(islice(parts_of(merges), rank, None))

    if no_pair is not None:
        raise ValueError(
            f"{place(no_pair)}: {' '.join(parts(no_pair))!r:.80} is not a pair of tokens"
        )
    if unknown is not None:
        rank, are_unknown = unknown
        left, right = parts(rank)
        token = next(compress((left, right, left + right), are_unknown))
        verb = "is made of" if any(are_unknown[:2]) else "makes"
        raise ValueError(f"{place(rank)} {verb} {token!r:.80}, which is not a token")
    return rows


def packed_merges(merges: Iterable[object], field: str) -> bytes:
    """Pack merges, each a text `left right` or a list of texts; `field` is for the messages.

    >>> packed_merges(["a b", ["Ġ", "t"]], "merges")
    b'a\\xfeb\\xff\\xc4\\xa0\\xfet'
    """
    packed = []
    for rank, merge in enumerate(merges):
        parts: Any = merge.split(" ") if isinstance(merge, str) else merge
        try:
            packed.append(_WITHIN.join([part.encode("utf-8") for part in parts]))
        except (TypeError, AttributeError, UnicodeEncodeError):
            raise ValueError(f"{field}[{rank}]: {merge!r:.80} is not a pair of tokens") from None
    return _BETWEEN.join(packed)


def packed_lines(lines: bytes) -> bytes:
    """Pack lines `left right`.

    >>> packed_lines(b"a b\\nab c")
    b'a\\xfeb\\xffab\\xfec'
    """
    return lines.replace(b" ", _WITHIN).replace(b"\n", _BETWEEN)


def parts_of(merges: bytes) -> Iterator[list[str]]:
    """Yield the parts of each merge, whose number may not be two.

    >>> list(parts_of(b"a\\xfeb\\xffab\\xfec"))
    [['a', 'b'], ['ab', 'c']]
    """
    for merge in merges.split(_BETWEEN) if merges else ():
        yield [part.decode("utf-8", "replace") for part in merge.split(_WITHIN)]


def has_part(merges: bytes, text: str) -> bool:
    """Whether a text is a part of a merge.

    >>> has_part(b"a\\xfeb\\xffab\\xfec", "ab"), has_part(b"a\\xfeb\\xffab\\xfec", "abc")
    (True, False)
    """
    return text.encode("utf-8") in merges.replace(_WITHIN, _BETWEEN).split(_BETWEEN)


# Tokens that are made of characters, as SentencePiece's are
# ----------------------------------------------

# In such files a space is spelled U+2581, merges begin with characters, and a character that is no
# token is spelled by tokens of its bytes. Here, spaces are spaces (a U+2581 of a text becomes one,
# as both are the same there), and the first merges put the bytes of every character together. What
# these merges make on the way to a character is provisional: where it is left over, the tokens of
# its bytes stand in its place.

BYTE_NAMES = {f"<0x{byte:02X}>": byte for byte in range(256)}
"""The bytes by the names of their tokens."""


class Pieces(NamedTuple):
    """What a file says of its tokens."""

    ids: dict[str, int]
    """The ids of all tokens but bytes and special ones, by their spelling."""
    byte_ids: Mapping[int, int]
    """The ids of the tokens for single bytes, such as `<0x0A>`."""
    has_marks: bool
    """Whether spaces are spelled U+2581."""
    special_tokens: Mapping[str, int]
    left_out: frozenset[str] = frozenset()
    """Special tokens that no text becomes by merging, so that merges with them do not count."""
    suffix: str = ""
    """What the names of tokens at the end of a word end with, if words have ends."""
    prefix: str = ""
    """What the names of tokens within words begin with, if words have beginnings."""

    @property
    def space(self) -> str:
        """How a space is spelled."""
        return MARK if self.has_marks else " "


def vocabulary_of_pieces(
    pieces: Pieces,
    merges: bytes | None,
    ranked: Sequence[tuple[float, str]] = (),
    *,
    pattern: Pattern | None = None,
    puts_space: bool = False,
    unknown: tuple[int, bool] | None = None,
    place: Callable[[int], str] = "merge {}".format,
    may_lack: bool = False,
    **fields: Any,
) -> Vocabulary:
    """Make the vocabulary, of packed merges (`packed_merges`) or of tokens with their ranks.

    Errors name the `place` of a merge in its file. `fields` are all others of the vocabulary.

    Without a pattern, text is cut where no token reaches across. `puts_space` puts a space before
    all text between special tokens that begins with none. Where there are tokens for all bytes,
    nothing is `unknown`. `may_lack` allows characters that are neither tokens nor unknown.
    """
    ids, decode_only = pieces.ids, dict[int, bytes]()
    left_out: Collection[str] = pieces.left_out
    if merges is not None and pieces.prefix:
        ids, merges, decode_only = _with_starts(ids, merges, pieces.prefix, place)
        left_out = _with_starts(dict.fromkeys(left_out, 0), b"", pieces.prefix, place)[0]
    elif merges is not None:
        ids, merges, decode_only = _with_marks(ids, merges, pieces.suffix, _CHARACTER_END)
    mark = WORD_END if pieces.suffix else WORD_START if pieces.prefix else b""
    largest = max(
        [-1, *pieces.ids.values(), *pieces.byte_ids.values(), *pieces.special_tokens.values()]
    )
    free = largest + 1
    ascii_bytes = {byte for byte in range(0x80) if chr(byte).replace(" ", pieces.space) in ids}
    lacking = sorted(set(IN_TEXTS) - pieces.byte_ids.keys() - ascii_bytes)
    if not lacking:
        unknown = None
    elif pieces.byte_ids or (unknown is None and not may_lack):
        raise ValueError(
            f"there is no token <0x{lacking[0]:02X}>, so characters without one would be lost"
        )
    has_space = pieces.space in ids
    if pieces.has_marks and pieces.byte_ids and not has_space and MARK not in pieces.special_tokens:
        raise ValueError(
            "no token is U+2581, so a space would be spelled by the bytes of that character"
        )
    lacking += mark
    if free > LARGEST_ID - len(lacking):
        raise ValueError("its ids leave no free ones for the parts of characters")
    byte_ids = {}
    spare = {}
    """Tokens of bytes that are also characters, whose tokens are used."""
    for byte, token_id in pieces.byte_ids.items():
        if byte in ascii_bytes:
            spare[token_id] = bytes([byte])
        else:
            byte_ids[byte] = token_id
    byte_ids |= zip(lacking, count(free))
    first_part = free + len(lacking)
    tokens, joins, others = read_pieces(
        ids, list(byte_ids.items()), first_part, pieces.has_marks, mark[0] if mark else None
    )
    arrays = Arrays(*tokens, joins)
    equal_ranks: list[Pair] = []
    if merges is None:
        rank_of = {ids[text]: rank for rank, text in sorted(ranked, key=itemgetter(0))}
        arrays, equal_ranks = _by_ranks(arrays, rank_of)
    else:
        rows = rows_of_pairs(ids, merges, others, place=place, cut_out=left_out)
        arrays = replace(arrays, merges=merges_that_happen(*tokens, joins + rows))
    cut = pattern
    is_joined = unknown is not None and unknown[1]
    may_drop = bool(lacking) and unknown is None
    if cut is None and mark:
        cut = PATTERNS["none"]  # Every cut would be the end of a word, or its beginning.
    elif cut is None and (is_joined or may_drop) and not has_space:
        cut = PATTERNS["none"]  # What is beside an unknown space is joined, or is merged.
    elif cut is None and may_drop and not any(pieces.space in text[1:] for text in ids):
        cut = " ?[^ ]+| "  # Behind a character that is left out, a space may follow another one.
    elif cut is None and may_drop:
        cut = PATTERNS["none"]
    elif cut is None:
        cut = _pattern_of_pieces(pieces, only_at_spaces=unknown is not None)
    return Vocabulary.of_arrays(
        arrays,
        irregular=True,
        special_tokens=pieces.special_tokens,
        pattern=(SPACE, *pattern_steps(cut)) if puts_space else cut,
        dialect=Dialect.named("huggingface"),
        decode_only=texts_of(pieces.ids, others) | spare | decode_only,
        unknown=unknown,
        provisional=range(free, arrays.id_at(-1) + 1),
        equal_ranks=equal_ranks,
        **fields,
    )


def _pattern_of_pieces(pieces: Pieces, *, only_at_spaces: bool) -> str:
    """Return a pattern that cuts text only where no token reaches across."""
    space = pieces.space
    if any(space in text.lstrip(space) for text in pieces.ids):
        return PATTERNS["none"]
    only_at_spaces = only_at_spaces or any("\n" in text and text.strip("\n") for text in pieces.ids)
    return " *[^ ]+| +" if only_at_spaces else r"\n+| *[^ \n]+| +"


def _by_ranks(arrays: Arrays, ranks: Mapping[int, float]) -> tuple[Arrays, list[Pair]]:
    """Add the merges where two neighbours merge if they are a token together, the lowest rank first; return
    also where those with equal ranks are. Bytes and the tokens of existing merges need no rank.
    """
    token_of = arrays.to_tokens()
    unranked = [token_id for token_id, token in token_of.items() if len(token) == 1]
    ids = [*dict.fromkeys([*unranked, *arrays.to_merge_ids(), *ranks])]
    in_order = Arrays.of({token_id: token_of[token_id] for token_id in ids})
    rows, _ = recover_merges(
        in_order.ids, in_order.tokens, in_order.ends, _equal(map(ranks.get, ids))
    )
    arrays = replace(arrays, merges=rows)
    return arrays, _equal(map(ranks.get, arrays.to_merge_ids()))


def _equal(ranks: Iterable[float | None]) -> list[Pair]:
    """Return where equal ranks begin and end; None is no rank.

    >>> _equal([None, None, 1.0, 2.0, 2.0, 3.0])
    [(3, 5)]
    """
    ranges: list[Pair] = []
    start = 0
    for rank, run in groupby(ranks):
        end = start + len(list(run))
        if rank is not None and end - start > 1:
            ranges.append((start, end))
        start = end
    return ranges
