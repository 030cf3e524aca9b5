"""Encoding: special tokens are split off, the rest is cut into pretokens, and merges are applied.

This is the specification: the engine must give the same ids, and the tests check that it does.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any

import regex

from bpetite._constants import PRETOKENIZER_PATTERN, Pair, Pattern
from bpetite._pretokenizer import pretokenize, split_at_specials
from bpetite.specification.added_tokens import (
    AddedToken,
    Choice,
    Normalize,
    of_parts,
    sections,
    unchanged,
)
from bpetite.specification.dropout import Dropout, dropped, merge_some

_UNKNOWN = -1
"""A byte that is not a token."""

_WORD_END = 0xFF
"""The mark behind a word, a byte that no UTF-8 has."""


def encode(
    text: str,
    vocab: Mapping[int, bytes],
    merges: Sequence[Pair],
    special_tokens: Mapping[str, int],
    pattern: Pattern = PRETOKENIZER_PATTERN,
    *,
    dropout: Dropout | None = None,
    **rules: Any,
) -> list[int]:
    """Encode text; occurrences of special tokens become their ids; the rules are those of `encode_ordinary`.

    >>> vocab = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"ab", 257: b"<|endoftext|>"}
    >>> encode("abab<|endoftext|>", vocab, [(97, 98)], {"<|endoftext|>": 257})
    [256, 256, 257]
    """
    ids: list[int] = []
    for segment, is_special in split_at_specials(text, list(special_tokens)):
        if is_special:
            ids.append(special_tokens[segment])
        else:
            ids += encode_ordinary(
                segment, vocab, merges, special_tokens, pattern, dropout=dropout, **rules
            )
        dropout = dropout and dropout.behind(len(segment.encode("utf-8")))
    return ids


def encode_parts(
    parts: Sequence[tuple[str, Choice]],
    vocab: Mapping[int, bytes],
    merges: Sequence[Pair],
    tokens: Sequence[AddedToken],
    normalize: Normalize = unchanged,
    pattern: Pattern = PRETOKENIZER_PATTERN,
) -> Iterator[tuple[int, int]]:
    """Yield the ids of the joined text of parts, each with the number of the part in which it begins.

    An id begins where its first character stands in the given text.

    >>> vocab = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"bb"}
    >>> tokens = [AddedToken("<s>", 257)]
    >>> list(encode_parts([("<s>ab", "parse"), ("b<s", "text"), (">", "parse")], vocab, [(98, 98)], tokens))
    [(257, 0), (97, 0), (256, 0), (60, 1), (115, 1), (62, 2)]
    """
    texts = [text for text, _ in parts]
    ends_of_parts = list(accumulate(map(len, texts)))
    added = {token.text: token.token_id for token in tokens}
    for section in sections("".join(texts), tokens, normalize, of_parts(parts)):
        if section.token_id is not None:
            start, _ = section.places[0]
            yield section.token_id, bisect_right(ends_of_parts, start)
            continue
        start_of_byte: list[int] = []
        for character, (start, _) in zip(section.text, section.places, strict=True):
            start_of_byte += [start] * len(character.encode())
        first_byte = 0
        for token_id in encode_ordinary(section.text, vocab, merges, added, pattern):
            yield token_id, bisect_right(ends_of_parts, start_of_byte[first_byte])
            first_byte += len(vocab[token_id])


def encode_ordinary(
    text: str,
    vocab: Mapping[int, bytes],
    merges: Sequence[Pair],
    special_tokens: Mapping[str, int],
    pattern: Pattern = PRETOKENIZER_PATTERN,
    *,
    whole_pretoken_first: bool = False,
    provisional: Collection[int] = (),
    unknown: tuple[int, bool] | None = None,
    equal_ranks: Sequence[Pair] = (),
    drops_missing: bool = False,
    left_out: str | None = None,
    ends_words: bool = False,
    dropout: Dropout | None = None,
) -> Iterator[int]:
    """Encode text without looking for special tokens.

    The pair of the lowest rank is merged, the leftmost among equals, until no pair has a rank. One
    pair is merged at a time. (Merging all pairs of a rank in one pass differs only if the result of
    a later merge is also the result, or a part, of an earlier one. Imported vocabularies have such
    merges, and the libraries that they come from merge one pair at a time.) No merge involves a
    byte that is not a token.

    With `whole_pretoken_first`, a pretoken that is itself a token gets that token's id before any
    merge is tried. `provisional` tokens exist only to be merged further: one that is left at the
    end is replaced by the ids of its bytes. `unknown` is the id of a byte that is not a token, and
    whether it stands once for successive ones of a pretoken; without it, a text with such a byte
    cannot be encoded. `equal_ranks` are the places where merges of the same rank begin and end.
    With `drops_missing`, bytes that are no tokens are left out before any merge; with `provisional`
    tokens, too, characters that are no lasting tokens. A pretoken that consists of characters of
    the set `left_out` has no ids.

    With `ends_words`, a mark follows each pretoken before it is merged, unless its last byte is not
    a token: so tokens at the end of a word are others. A provisional token with the mark is the
    last byte of a word that is no token there.

    With `dropout`, merges are left out at random (`specification/dropout.py`), and no token is taken
    for a whole pretoken. The bytes of a character are put together as ever if parts of characters
    are provisional, and so is what a mark follows: these are what other vocabularies begin with.

    >>> vocab = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"abab", 257: b"ab"}
    >>> list(encode_ordinary("xabab abab", vocab, [(257, 257), (97, 98)], {}))
    [120, 256, 32, 256]
    >>> vocab = {**vocab, 256: b"bc", 257: b"ab"}
    >>> list(encode_ordinary("abc", vocab, [(98, 99), (97, 98)], {}, equal_ranks=[(0, 2)]))
    [257, 99]
    >>> list(encode_ordinary("abc", {0: b"b", 1: b"<unk>"}, [], {}, unknown=(1, True)))
    [1, 0, 1]
    >>> vocab = {0: b"a", 1: b"b", 2: b"ab"}
    >>> list(encode_ordinary("a-b", vocab, [(0, 1)], {}, "(?s:.)+", drops_missing=True))
    [2]
    >>> list(encode_ordinary("ab b", vocab, [(0, 1)], {}, r"\\w+", left_out=r"\\s"))
    [2, 1]
    >>> vocab = {0: b"a", 1: b"a\\xff", 2: b"\\xff"}
    >>> list(encode_ordinary("aa", vocab, [(0, 2)], {}, "(?s:.)+", provisional=[2], ends_words=True))
    [0, 1]
    """
    id_of_byte = _base_ids(vocab, special_tokens)
    rank_of = ranks(merges, equal_ranks)
    id_of_pair = dict(zip(merges, merge_ids(vocab, merges, special_tokens), strict=True))
    whole = _ordinary(vocab, special_tokens) if whole_pretoken_first and not dropout else {}
    # Of equal tokens, the smallest id stays, which comes last.
    id_of_whole = {token: token_id for token_id, token in reversed(whole.items())}
    has_characters = any(vocab[token_id][-1:] != b"\xff" for token_id in provisional)
    offset = 0
    for pretoken in pretokenize(text, pattern):
        start, offset = offset, offset + len(pretoken)
        if left_out is not None and consists_of(pretoken, left_out):
            continue
        if pretoken in id_of_whole:
            ids = [id_of_whole[pretoken]]
        else:
            drops = drops_missing and not ends_words
            merged = lasting(pretoken, vocab, provisional) if drops else pretoken
            ids = [id_of_byte.get(byte, _UNKNOWN) for byte in merged]
        if ends_words and ids[-1] != _UNKNOWN:
            ids.append(id_of_byte[_WORD_END])
        if drops_missing:
            ids = [token_id for token_id in ids if token_id != _UNKNOWN]
        if dropout is None:
            _merge_all(ids, rank_of, id_of_pair)
        else:
            units = []
            for unit in _units(ids, vocab, has_characters):
                _merge_all(unit, rank_of, id_of_pair)
                units += unit
            ids = units
            merge_some(
                ids,
                lambda left, right: rank_of.get((left, right)),
                lambda left, right: id_of_pair[left, right],
                dropped(dropout, start),
            )
        if ends_words and ids and ids[-1] in provisional:
            ids[-1] = _UNKNOWN
        if drops_missing and ids[-1:] == [_UNKNOWN]:
            ids.pop()
        if unknown is None and _UNKNOWN in ids:
            raise ValueError(f"{pretoken!r} has a byte for which this vocabulary has no token")
        for token_id, run in groupby(ids):
            length = len(list(run))
            if token_id == _UNKNOWN and unknown is not None:
                unknown_id, stands_once = unknown
                yield from [unknown_id] * (1 if stands_once else length)
            elif token_id in provisional:
                yield from [id_of_byte[byte] for byte in vocab[token_id]] * length
            else:
                yield from [token_id] * length


def _units(
    ids: Sequence[int], vocab: Mapping[int, bytes], has_characters: bool
) -> Iterator[list[int]]:
    """Yield the bytes that are never apart: those of a character, if they are its parts, and of a mark.

    >>> list(_units([0, 1, 2], {0: b"a", 1: b"\\xc3", 2: b"\\xa9"}, True))
    [[0], [1, 2]]
    """
    unit: list[int] = []
    for token_id in ids:
        byte = vocab.get(token_id, b"?")[0]
        goes_on = byte == _WORD_END or (has_characters and byte & 0xC0 == 0x80)
        if unit and not goes_on:
            yield unit
            unit = []
        unit.append(token_id)
    if unit:
        yield unit


def lasting(pretoken: bytes, vocab: Mapping[int, bytes], provisional: Collection[int]) -> bytes:
    """Leave out the characters that are no tokens that last; without provisional ones, none.

    >>> lasting("aé".encode(), {0: b"a", 1: b"\\xc3", 2: b"\\xa9", 3: b"\\xc3\\xa9"}, [1, 2, 3])
    b'a'
    """
    if not provisional:
        return pretoken
    lasting = {token for token_id, token in vocab.items() if token_id not in provisional}
    characters = (character.encode("utf-8") for character in pretoken.decode("utf-8"))
    return b"".join(character for character in characters if character in lasting)


def consists_of(pretoken: bytes, characters: str) -> bool:
    """Whether a pretoken consists of characters of a set; a part of a character is not one.

    >>> consists_of(b" \\n", r"\\s"), consists_of(b" a", r"\\s")
    (True, False)
    """
    try:
        text = pretoken.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return regex.fullmatch(f"(?:{characters})+", text) is not None


def _merge_all(ids: list[int], rank_of: Mapping[Pair, int], id_of_pair: Mapping[Pair, int]) -> None:
    """Merge the pair of the lowest rank, the leftmost among equals, until no pair has a rank."""
    while True:
        pairs = enumerate(pairwise(ids))
        candidates = [(rank_of[pair], place, pair) for place, pair in pairs if pair in rank_of]
        if not candidates:
            return
        _, place, pair = min(candidates)
        ids[place : place + 2] = [id_of_pair[pair]]


def _encode_ordinary(text: str, merges: Sequence[Pair]) -> list[int]:
    """Encode text with a vocabulary that was trained here: bytes are ids 0 to 255, merges follow.

    Each merge is one pass from left to right over the pretoken, in the order of ranks. As the parts
    of a merge come before it, this gives the ids of `encode_ordinary`, which also knows imported
    vocabularies.

    >>> _encode_ordinary("abab cab", [(97, 98), (256, 256)])
    [257, 32, 99, 256]
    """
    ids: list[int] = []
    for pretoken in pretokenize(text):
        tokens = list(pretoken)
        for rank, pair in enumerate(merges):
            tokens = _apply_merge(tokens, pair, 256 + rank)
        ids += tokens
    return ids


def _apply_merge(tokens: Sequence[int], pair: Pair, new_id: int) -> list[int]:
    """Replace each occurrence of a pair, from left to right, without overlaps.

    >>> _apply_merge([97, 98, 97, 98], (97, 98), 256)
    [256, 256]
    >>> _apply_merge([120, 120, 120], (120, 120), 256)
    [256, 120]
    """
    merged: list[int] = []
    place = 0
    while place < len(tokens):
        if tuple(tokens[place : place + 2]) == pair:
            merged.append(new_id)
            place += 2
        else:
            merged.append(tokens[place])
            place += 1
    return merged


def ranks(merges: Sequence[Pair], equal_ranks: Sequence[Pair] = ()) -> dict[Pair, int]:
    """Return the rank of the merge of each pair: its place, or the first place of those with the same rank.

    >>> ranks([(1, 2), (3, 4), (5, 6)], [(1, 3)])
    {(1, 2): 0, (3, 4): 1, (5, 6): 1}
    """
    rank_at = {}
    for start, end in equal_ranks:
        rank_at.update(dict.fromkeys(range(start, end), start))
    return {pair: rank_at.get(place, place) for place, pair in enumerate(merges)}


def merge_ids(
    vocab: Mapping[int, bytes], merges: Sequence[Pair], special_tokens: Mapping[str, int]
) -> list[int]:
    """Return the id of every merge's token: of equal tokens the first that no earlier merge has, if any.

    >>> merge_ids({0: b"a", 1: b"b", 2: b"ab"}, [(0, 1)], {})
    [2]
    """
    ids_of: defaultdict[bytes, list[int]] = defaultdict(list)
    for token_id, token in _ordinary(vocab, special_tokens).items():
        ids_of[token].append(token_id)
    taken: defaultdict[bytes, int] = defaultdict(int)
    result = []
    for left, right in merges:
        token = vocab[left] + vocab[right]
        free = ids_of[token][taken[token] :]
        result.append(free[0] if free else ids_of[token][0])
        taken[token] += 1
    return result


def _base_ids(vocab: Mapping[int, bytes], special_tokens: Mapping[str, int]) -> dict[int, int]:
    """Return the id of every byte value."""
    tokens = _ordinary(vocab, special_tokens)
    return {token[0]: token_id for token_id, token in tokens.items() if len(token) == 1}


def _ordinary(vocab: Mapping[int, bytes], special_tokens: Mapping[str, int]) -> dict[int, bytes]:
    """Return the tokens that are not special, in the order of their ids."""
    return {
        token_id: vocab[token_id] for token_id in sorted(set(vocab) - set(special_tokens.values()))
    }
