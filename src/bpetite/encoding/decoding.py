"""What is checked before ids are decoded, and what the errors say."""

import codecs

from bpetite._internal.arguments import UnknownTokenError, check_type
from bpetite.vocabulary import Vocabulary

_MOST_RANGES = 4
"""The maximum number of ranges of ids that an error names."""


def check_handler(errors: str) -> None:
    """Refuse a name that no handler of bytes that are not text has.

    >>> check_handler("nonsense")
    Traceback (most recent call last):
    LookupError: unknown error handler name 'nonsense'
    """
    check_type("errors", errors, str)
    if "\0" in errors:
        raise ValueError(f"errors: {errors!r} names no handler")
    codecs.lookup_error(errors)


def unknown_in_stream(unknown: KeyError) -> UnknownTokenError:
    """Return the engine's error about an id in a stream as a sentence.

    >>> print(unknown_in_stream(KeyError(9)))
    unknown id 9: the vocabulary has no such token
    """
    return UnknownTokenError(f"unknown id {unknown.args[0]}: the vocabulary has no such token")


def unknown_id(unknown: KeyError, vocabulary: Vocabulary) -> UnknownTokenError:
    """Return the engine's error about an id as a sentence that says which ids there are.

    >>> print(unknown_id(KeyError(9), Vocabulary({0: b"a", 1: b"b", 5: b"c", 6: b"d"}, [], irregular=True)))
    unknown id 9: the ids of this vocabulary are 0 to 1 and 5 to 6
    """
    listed = {*vocabulary.tokens, *vocabulary.decode_only, *vocabulary.special_tokens.values()}
    ranges: list[list[int]] = []
    for token_id in sorted(listed - set(vocabulary.provisional)):
        if ranges and token_id == ranges[-1][1] + 1:
            ranges[-1][1] = token_id
        else:
            ranges.append([token_id, token_id])
    named = [str(first) if first == last else f"{first} to {last}" for first, last in ranges]
    if len(named) > _MOST_RANGES:
        named[_MOST_RANGES - 1 : -1] = [f"{len(named) - _MOST_RANGES} more ranges"]
    which = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    return UnknownTokenError(
        f"unknown id {unknown.args[0]}: the ids of this vocabulary are {which}"
    )


def unknown_token(token: bytes, vocabulary: Vocabulary) -> UnknownTokenError:
    """Return an error about bytes that are no token.

    >>> ones = {byte: bytes([byte]) for byte in range(256)}
    >>> print(unknown_token(b"<s>", Vocabulary(ones, [], {"<s>": 256})))
    b'<s>' is a special token: its id, 256, is in special_tokens
    """
    text = token.decode("utf-8", "replace")
    if text in vocabulary.special_tokens:
        token_id = vocabulary.special_tokens[text]
        return UnknownTokenError(
            f"{token!r:.80} is a special token: its id, {token_id}, is in special_tokens"
        )
    advice = "only the bytes of one token have an id, and encode gives those of any text"
    return UnknownTokenError(f"{token!r:.80} is not a token of this vocabulary: {advice}")
