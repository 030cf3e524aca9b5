"""tiktoken's files, a line of base64, a space and a rank for each token: lines in, a vocabulary out, and
back.

The file holds no merges, only ranks: any two neighbours merge whose bytes together are a token, the lowest
rank first, and a pretoken that is a token is never merged at all. The merges that this amounts to are
recovered exactly. It holds neither the pattern nor the special tokens, so these must be given.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bpetite._constants import BASE_VOCAB_SIZE, Pair
from bpetite._engine import recover_merges
from bpetite._internal.json import refuse
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.formats.shared.difficult import Encodes, check_same_ids
from bpetite.formats.shared.imported import UNICODE_ASSUMPTION, Imported, assumed_pattern
from bpetite.patterns import PATTERNS, named_pattern
from bpetite.vocabulary import LARGEST_ID, Vocabulary, listed_special_tokens

if TYPE_CHECKING:
    from tiktoken import Encoding as TiktokenEncoding

SpecialTokens = Mapping[str, int] | Sequence[str]

_NEVER, _OUT_OF_ORDER = -1, -2


def read(
    path: Path, *, pattern: str, special_tokens: SpecialTokens = (), whole_pretoken_first: bool = False
) -> Imported:
    """Read a file; special tokens given without ids follow the last rank.

    A file with tokens that no merge makes is refused, unless `whole_pretoken_first` says that they are
    wanted: tiktoken gives them to whole pretokens.
    """
    with open(path, "rb") as file:
        return parse(path, file.read(), pattern, special_tokens, whole_pretoken_first)


def parse(
    path: Path,
    content: bytes,
    pattern: str,
    special_tokens: SpecialTokens = (),
    whole_pretoken_first: bool = False,
) -> Imported:
    """Read a file's content; errors name `path`."""
    tokens = _tokens(path, content)
    specials = _special_ids(special_tokens, tokens)
    _check_gaps(path, tokens, specials)
    merges, merge_ids, unreachable = _recovered(path, tokens)
    if unreachable and not whole_pretoken_first:
        refuse(
            path,
            f"token {unreachable[0]} ({tokens[unreachable[0]]!r:.80}) cannot be reached by merging tokens "
            f"of lower ranks, nor can {len(unreachable) - 1} others; tiktoken gives such tokens to whole "
            "pretokens only, which whole_pretoken_first=True asks for",
        )
    vocabulary = Vocabulary(
        tokens,
        merges,
        specials,
        named_pattern(pattern),
        Dialect.named("tiktoken"),
        whole_pretoken_first=bool(unreachable),
        merge_ids=merge_ids,
    )
    assumptions = [assumed_pattern(vocabulary.pattern, "given: the file names none"), UNICODE_ASSUMPTION]
    if not specials:
        assumptions.append("there are no special tokens (the file names none, and none were given)")
    return Imported(vocabulary, assumptions)


def _tokens(path: Path, content: bytes) -> dict[int, bytes]:
    """Read the lines: the bytes of every rank, in the order of rank."""
    tokens: dict[int, bytes] = {}
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line:
            continue
        spelled, _, written = line.rstrip(b"\r").partition(b" ")
        try:
            token = binascii.a2b_base64(spelled)
        except binascii.Error:
            refuse(path, f"line {number}: {spelled!r:.80} is not base64")
        if binascii.b2a_base64(token, newline=False) != spelled or not token:
            refuse(path, f"line {number}: {spelled!r:.80} is not the base64 of a token")
        rank = int(written) if written.isdigit() and len(written) <= 10 else -1
        if not 0 <= rank <= LARGEST_ID:
            refuse(path, f"line {number}: {written!r:.80} is no rank from 0 to {LARGEST_ID}")
        if rank in tokens:
            refuse(path, f"line {number}: rank {rank} stands twice")
        tokens[rank] = token
    _check_distinct(path, tokens)
    return dict(sorted(tokens.items()))


def _check_distinct(path: Path, tokens: Mapping[int, bytes]) -> None:
    """Refuse a token that stands twice, and a byte that stands nowhere."""
    rank_of = {token: rank for rank, token in tokens.items()}
    if len(rank_of) != len(tokens):
        first, token = next((rank, token) for rank, token in tokens.items() if rank_of[token] != rank)
        refuse(path, f"token {token!r:.80} stands twice, at ranks {first} and {rank_of[token]}")
    missing = [byte for byte in range(BASE_VOCAB_SIZE) if bytes([byte]) not in rank_of]
    if missing:
        refuse(path, f"no line holds the single byte {bytes([missing[0]])!r}")


def _special_ids(special_tokens: SpecialTokens, tokens: Mapping[int, bytes]) -> dict[str, int]:
    if isinstance(special_tokens, str):
        raise ValueError("special_tokens must be a list of strings or a dict of ids, not a string")
    if isinstance(special_tokens, Mapping):
        return dict(special_tokens)
    specials = listed_special_tokens(special_tokens)
    return Dialect.named("tiktoken").special_token_ids(specials, max(tokens) + 1)


def _check_gaps(path: Path, tokens: Mapping[int, bytes], specials: Mapping[str, int]) -> None:
    """Refuse ranks below the last one that neither a token nor a special token has."""
    taken = set(specials.values())
    expected = 0
    for rank in tokens:
        while expected < rank:
            if expected not in taken:
                refuse(path, f"rank {expected} is missing (a special token may have it, if it is given)")
            expected += 1
        expected += 1


def _recovered(path: Path, tokens: Mapping[int, bytes]) -> tuple[list[Pair], list[int], list[int]]:
    """Return the merges in the order of rank, the ids they make, and those of the tokens that none makes."""
    ids = np.array(list(tokens), np.int64)
    lengths = np.array([len(token) for token in tokens.values()], np.int64)
    parents = recover_merges(b"".join(tokens.values()), np.cumsum(lengths, dtype=np.uint64))
    late = ids[parents[:, 0] == _OUT_OF_ORDER]
    if len(late):
        token_id = int(late[0])
        refuse(
            path,
            f"token {token_id} ({tokens[token_id]!r:.80}) can only be made from tokens of higher ranks; "
            "such an order of merges cannot be kept exactly",
        )
    merged = parents[:, 0] >= 0
    unreachable = ids[(parents[:, 0] == _NEVER) & (lengths > 1)]
    pairs = ids[parents[merged]]
    return list(zip(*pairs.T.tolist(), strict=True)), ids[merged].tolist(), unreachable.tolist()


# Writing -----------------------------------------------------------------------------------------------


def to_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the file of a vocabulary; one whose ids do not give its merges back is refused."""
    check_expressible(vocabulary)
    return b"".join(
        b"%s %d\n" % (binascii.b2a_base64(token, newline=False), token_id)
        for token_id, token in vocabulary.tokens.items()
    )


def check_expressible(vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary that ranks alone cannot express."""
    tokens = vocabulary.tokens
    instead = "to_huggingface, which keeps merges and ids apart, can hold it"
    if vocabulary.normalization is not None:
        raise ValueError(f"tiktoken does not normalize text ({vocabulary.normalization}); to_huggingface can")
    if len(set(tokens.values())) != len(tokens):
        raise ValueError(f"a tiktoken file cannot hold two tokens of the same bytes; {instead}")
    merges, _, unreachable = _recovered("to_tiktoken", tokens)
    if unreachable and not vocabulary.whole_pretoken_first:
        raise ValueError(
            f"no merge makes token {unreachable[0]} ({tokens[unreachable[0]]!r:.80}), "
            f"but tiktoken would give it to a whole pretoken; {instead}"
        )
    # A merge that ranks do not give back never happens: its token always comes about in another way, or
    # never.
    expected = set(merges)
    kept = [pair for pair in vocabulary.merges if pair in expected]
    if kept != merges:
        left, right = next(pair for pair, own in zip(merges, [*kept, None], strict=False) if pair != own)
        raise ValueError(
            f"a tiktoken file holds no merges, only ids, and by the ids {tokens[left]!r:.60} and "
            f"{tokens[right]!r:.60} would merge in another order than here; {instead}"
        )


def peer_encoding(vocabulary: Vocabulary, name: str, encode: Encodes) -> TiktokenEncoding:
    """Build a real `tiktoken.Encoding` that gives the same ids as `encode` (special tokens parsed)."""
    import tiktoken

    check_expressible(vocabulary)
    specials = dict(vocabulary.special_tokens)
    for one in specials:
        for other in specials:
            if one != other and other.startswith(one):
                raise ValueError(
                    f"special tokens {one!r} and {other!r}: tiktoken does not say which one wins"
                )
    encoding = tiktoken.Encoding(
        name,
        pat_str=covering_pattern(vocabulary.pattern),
        mergeable_ranks={token: token_id for token_id, token in vocabulary.tokens.items()},
        special_tokens=specials,
    )
    check_same_ids(
        vocabulary, encode, lambda text: encoding.encode(text, allowed_special="all"), "the tiktoken.Encoding"
    )
    return encoding


def covering_pattern(pattern: str) -> str:
    """Return the pattern with what it does not match as a match of its own: tiktoken drops such text.

    >>> covering_pattern("a+")
    '(?:a+)|(?:(?!a+)(?s:.))+'
    """
    if pattern in PATTERNS.values():
        return pattern
    return f"(?:{pattern})|(?:(?!{pattern})(?s:.))+"
