"""tiktoken's files, with a line of base64, a space and a rank for each token, in; a vocabulary out, and back.

The file has no merges, only ranks: two neighbours merge if their joined bytes are a token, the
lowest rank first, and a pretoken that is a token is not merged at all. The equivalent merges are
recovered exactly, for any order of ranks. The file has neither the pattern nor the special tokens,
so these must be given.
"""

from __future__ import annotations

import binascii
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING

from bpetite._constants import Pattern
from bpetite._engine import (
    base64_lines,
    covers_all_text,
    read_pattern,
    recover_merges,
    same_pattern,
)
from bpetite._internal.arguments import worded
from bpetite._internal.files import contents
from bpetite._internal.json import naming
from bpetite._internal.types import AnyPath, SpecialTokens
from bpetite.dialect import Dialect
from bpetite.formats.shared.caches import encoding_files
from bpetite.formats.shared.difficult import Encodes, check_same_ids
from bpetite.formats.shared.imported import (
    IN_TEXTS,
    Imported,
    check_holds,
    of_beside,
    read_files,
    some,
)
from bpetite.formats.shared.published import (
    ENCODINGS,
    OTHER_SPECIAL_TOKENS,
    PUBLISHED,
    Published,
    url_of,
)
from bpetite.patterns import PATTERNS, named_pattern, pattern_name
from bpetite.vocabulary import LARGEST_ID, Arrays, Vocabulary, listed_special_tokens

if TYPE_CHECKING:
    from tiktoken import Encoding as TiktokenEncoding

_EMPTY = b"="
"""The spelling of an empty token, which Whisper's file has."""

_NO_SPECIAL_TOKENS = worded(
    lambda name: (
        "there are no special tokens, as a file of ranks holds none: <|endoftext|> and the like are ordinary "
        f"text; give {name('special_tokens')}, or put the model's tokenizer_config.json next to the file"
    )
)


def parse_published(
    path: AnyPath,
    content: bytes,
    pattern: Pattern | None = None,
    special_tokens: SpecialTokens | None = None,
    beside: Mapping[str, int] | None = None,
) -> Imported:
    """Read a file's content; for a known published file, the pattern and special tokens need not be given.

    If no special tokens are given, they are those that the files `beside` it name, or the published
    ones.
    """
    published = published_of(content)
    if pattern is None and published is None:
        what = f"{os.fspath(path)}: a file of ranks does not hold its pattern"
        raise ValueError(worded(lambda name: f"{what}; give it as {name('pattern')}"))
    facts = published or Published("", "")
    specials = special_tokens
    if specials is None:
        specials = beside or facts.special_tokens
    imported = parse(
        path, content, pattern or facts.pattern, specials, normalization=facts.normalization
    )
    assumptions = list(imported.assumed)
    if special_tokens is None and beside:
        assumptions.append(of_beside(beside))
    used = []
    if not pattern:
        used.append(f"the pattern {pattern_name(facts.pattern)}")
    if special_tokens is None and not beside and facts.special_tokens:
        used.append(f"the special tokens {some(facts.special_tokens)}")
    if facts.normalization:
        used.append(f"the normalization {facts.normalization}")
    if published and used:
        assumptions.append(
            f"this is the file of {facts.name}, which is known to have {' and '.join(used)}"
        )
    return imported._replace(assumed=assumptions)


def published_of(content: bytes) -> Published | None:
    """Return what is known of a file's content, if it is a published one."""
    import hashlib

    return PUBLISHED.get(hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest())


def published_encoding(encoding: str, folder: str) -> Imported | None:
    """Read one of tiktoken's encodings from a folder, such as its cache; None if it is not there.

    Of GPT-2's two files, the ranks are made; the file in the result is then that of the ranks.
    """
    ranks, pair = encoding_files(encoding, folder)
    if ranks is not None:
        path, content = ranks, contents(ranks)
    elif pair is not None:
        from bpetite.formats import gpt2

        path, content = pair[0], to_bytes(read_files("gpt2", gpt2.parse, pair).vocabulary)
    else:
        return None
    published = published_of(content)
    file = f"{ENCODINGS[encoding]}.tiktoken"
    if published is None or published.name != ENCODINGS[encoding]:
        url = url_of(f"encodings/{file}")
        raise ValueError(f"{path}: it is not the published file of {encoding}, which is at {url}")
    specials = OTHER_SPECIAL_TOKENS.get(encoding, published.special_tokens)
    imported = parse(path, content, published.pattern, specials)
    source = (
        f"it is read from tiktoken's cache, {path}, and is the published file of {published.name}; "
        f"used: the pattern {pattern_name(published.pattern)} and the special tokens {some(specials)}"
    )
    imported = imported._replace(assumed=[source, *imported.assumed])
    return imported.read_from("tiktoken", {file: content})


def parse(
    path: AnyPath,
    content: bytes,
    pattern: Pattern,
    special_tokens: SpecialTokens = (),
    whole_pretoken_first: bool = True,
    normalization: str | None = None,
) -> Imported:
    """Read a file's content; errors name `path`. Special tokens given without ids follow the last rank.

    Tokens that no merge makes are given to whole pretokens, as tiktoken does; a file with such
    tokens is refused if `whole_pretoken_first` is False.
    """
    with naming(path):
        _check_means_the_same(_one(named_pattern(pattern)))
        tokens, empty = base64_lines(content, LARGEST_ID)
        vocabulary = vocabulary_of_ranks(
            Arrays(*tokens), pattern, special_tokens, normalization, empty
        )
        if vocabulary.whole_pretoken_first and not whole_pretoken_first:
            raise ValueError(
                "there are tokens that no merge makes; tiktoken gives them to whole pretokens"
            )
    return Imported(vocabulary, [] if vocabulary.special_tokens else [_NO_SPECIAL_TOKENS])


def vocabulary_of_ranks(
    ranks: Arrays,
    pattern: Pattern,
    special_tokens: SpecialTokens = (),
    normalization: str | None = None,
    empty: Sequence[int] = (),
) -> Vocabulary:
    """Make the vocabulary of tokens in the order of rank, some of them `empty`."""
    last_rank = memoryview(ranks.ids).cast("I")[-1:]
    specials = _special_ids(special_tokens, [*empty, *last_rank])
    merges, unreachable = recover_merges(ranks.ids, ranks.tokens, ranks.ends)
    vocabulary = Vocabulary.of_arrays(
        replace(ranks, merges=merges),
        irregular=True,
        special_tokens=specials,
        pattern=as_tiktoken_reads(pattern),
        dialect=Dialect.named("tiktoken"),
        whole_pretoken_first=bool(unreachable),
        normalization=normalization,
        # The whole text is normalized before special tokens are looked for.
        token_flags=dict.fromkeys(specials, ("normalized",)) if normalization else {},
        decode_only=dict.fromkeys(empty, b""),
    )
    for byte in IN_TEXTS:
        if byte not in vocabulary.id_of_byte:
            raise ValueError(f"no line holds the single byte {bytes([byte])!r}")
    return vocabulary


def _special_ids(special_tokens: SpecialTokens, ranks: Iterable[int]) -> dict[str, int]:
    if isinstance(special_tokens, Mapping):
        return dict(special_tokens)
    specials = listed_special_tokens(special_tokens)
    return Dialect.named("tiktoken").special_token_ids(specials, max(ranks, default=-1) + 1)


# Writing
# -----------------------------------------------------------------------------------------------


def to_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the file of a vocabulary; one whose merges do not follow from its ids is refused."""
    check_expressible(vocabulary)
    tokens = {**vocabulary.tokens, **vocabulary.decode_only}
    lines = []
    for token_id, token in sorted(tokens.items()):
        spelled = binascii.b2a_base64(token, newline=False) or _EMPTY
        lines.append(b"%s %d\n" % (spelled, token_id))
    return b"".join(lines)


def check_expressible(vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary that ranks alone cannot express."""
    tokens = vocabulary.tokens
    instead = "to_huggingface, which keeps merges and ids apart, can hold it"
    check_holds(vocabulary, "a tiktoken file", instead)
    if not isinstance(vocabulary.pattern, str):
        raise ValueError(f"tiktoken cuts text by one pattern, not by a sequence; {instead}")
    for byte in IN_TEXTS:
        if byte not in vocabulary.id_of_byte:
            raise ValueError(
                f"tiktoken needs a token for each byte, but {byte:#x} has none; {instead}"
            )
    if any(vocabulary.decode_only.values()):
        raise ValueError(
            f"tiktoken would also encode text to tokens that are only decoded here; {instead}"
        )
    arrays = vocabulary.arrays
    rows, unreachable = recover_merges(arrays.ids, arrays.tokens, arrays.ends)
    merges = list(replace(arrays, merges=rows).to_pairs())
    if unreachable and not vocabulary.whole_pretoken_first:
        raise ValueError(
            f"no merge makes token {unreachable[0]} ({tokens[unreachable[0]]!r:.80}), "
            f"but tiktoken would use it for a whole pretoken; {instead}"
        )
    # A merge that does not follow from ranks is never applied: its token is made otherwise, or
    # never.
    expected = set(merges)
    kept = [pair for pair in vocabulary.merges if pair in expected]
    if kept != merges:
        left, right = next(
            pair for pair, own in zip(merges, [*kept, None], strict=False) if pair != own
        )
        raise ValueError(
            f"a tiktoken file holds no merges, only ids, and by the ids {tokens[left]!r:.60} and "
            f"{tokens[right]!r:.60} would merge in another order than here; {instead}"
        )


def peer_encoding(vocabulary: Vocabulary, name: str, encode: Encodes) -> TiktokenEncoding:
    """Build a real `tiktoken.Encoding` that gives the same ids as `encode` (special tokens parsed)."""
    check_expressible(vocabulary)
    for short, long in permutations(vocabulary.special_tokens, 2):
        if long.startswith(short):
            raise ValueError(
                f"special tokens {short!r} and {long!r}: tiktoken does not say which one wins"
            )
    ranks = {token: token_id for token_id, token in vocabulary.tokens.items()}
    encoding = made_encoding(name, vocabulary, ranks)
    encode_theirs = partial(encoding.encode, allowed_special="all")
    check_same_ids(vocabulary, encode, encode_theirs, "the tiktoken.Encoding")
    return encoding


def made_encoding(name: str, vocabulary: Vocabulary, ranks: dict[bytes, int]) -> TiktokenEncoding:
    """Make tiktoken's own object of ranks, with the pattern and the special tokens of a vocabulary."""
    import tiktoken

    pattern = covering_pattern(vocabulary.pattern)
    specials = dict(vocabulary.special_tokens)
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)


def _one(pattern: Pattern) -> str:
    """Return a pattern that is a single expression."""
    if not isinstance(pattern, str):
        raise ValueError("tiktoken cuts text by one pattern, not by a sequence of steps")
    return pattern


def as_tiktoken_reads(pattern: Pattern) -> str:
    """Return the pattern of a name, or translate one from the syntax of tiktoken's engine.

    >>> as_tiktoken_reads("whitespace"), as_tiktoken_reads("[a[b-d]]+$")
    ('\\\\S+|\\\\s+', '[ab-d]+(?![\\\\s\\\\S])')
    """
    named = _one(named_pattern(pattern))
    return named if named in PATTERNS.values() else read_pattern(named, "rust")


def _check_means_the_same(pattern: str) -> None:
    """Refuse a pattern that is valid in our syntax and in tiktoken's, with different meanings."""
    read = as_tiktoken_reads(pattern)
    try:
        is_same = same_pattern(read, pattern)
    except ValueError:  # It is not valid in our syntax.
        return
    if not is_same:
        raise ValueError(
            f"pattern {pattern!r:.200} has another meaning in tiktoken, where it is read as {read!r:.200}; "
            r"write it so that both read it alike: (?![\s\S]) for $, [A-Za-z] for [[:alpha:]]"
        )


def covering_pattern(pattern: Pattern) -> str:
    """Return the pattern with an alternative for unmatched text, which tiktoken would drop.

    >>> covering_pattern("a+")
    '(?:a+)|(?:(?!a+)(?s:.))+'
    """
    pattern = _one(pattern)
    if not same_pattern(read_pattern(pattern, "rust"), pattern):
        raise ValueError(f"pattern {pattern!r:.200}: tiktoken would read it differently")
    return pattern if covers_all_text(pattern) else f"(?:{pattern})|(?:(?!{pattern})(?s:.))+"
