"""Checks the types of arguments, and words messages that name them, for Python and for the command line."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any


class Message(str):
    """A message in the words of Python, which name arguments; the command line has others for the same."""

    on_command_line: str


Name = Callable[..., str]
"""Names an argument, perhaps with a value."""


def worded(words: Callable[[Name], str]) -> Message:
    """Return a message, made of words that call what they are given to name an argument.

    >>> message = worded(lambda name: f"{name('resume', True)} continues, {name('min_count')} 5 would fit")
    >>> print(message, message.on_command_line, sep="\\n")
    resume=True continues, min_count 5 would fit
    --resume continues, --min-count 5 would fit
    """
    message = Message(words(in_python))
    message.on_command_line = words(as_option)
    return message


def on_command_line(message: object) -> str:
    """Return a message in the words of the command line."""
    return message.on_command_line if isinstance(message, Message) else str(message)


def in_python(name: str, value: object = None) -> str:
    """Name an argument in Python.

    >>> in_python("resume", True)
    'resume=True'
    """
    return name if value is None else f"{name}={value!r}"


_OPTIONS = {
    "overwrite": "force",
    "special_tokens": "special-token",
    "max_tokens": "tokens",
    "size": "tokens",
}
"""Arguments whose options have other names."""


def as_option(name: str, value: object = None) -> str:
    """Name an argument on the command line.

    >>> as_option("resume", True)
    '--resume'
    """
    if not name.isidentifier():  # more than a name
        return name
    option = f"--{_OPTIONS.get(name, name).replace('_', '-')}"
    return option if value in (None, True) else f"{option} {value}"


def shortened(value: str | Iterable[str]) -> str:
    """Return a text, or several, as a message quotes them; of a long value, its beginning.

    >>> shortened(["<s>", "</s>"]), shortened([])
    ("'<s>', '</s>'", 'none')
    """
    shown = repr(value) if isinstance(value, str) else ", ".join(map(repr, value)) or "none"
    return shown if len(shown) <= 60 else f"{shown[:60]}…"


def special_id(option: str, token: str | None, special_tokens: Mapping[str, int]) -> int | None:
    """Return the id of the special token that an argument names, or None without one.

    >>> special_id("pad_token", "<x>", {"<pad>": 7})
    Traceback (most recent call last):
    ValueError: pad_token: '<x>' is not a special token ('<pad>'); name one that is, or train with it
    """
    if token is not None:
        check_type(option, token, str, "the text of a special token")
    if token is not None and token not in special_tokens:
        is_none = f"{token!r} is not a special token ({shortened(special_tokens)})"
        is_none += "; name one that is, or train with it"
        raise ValueError(worded(lambda name: f"{name(option)}: {is_none}"))
    return None if token is None else special_tokens[token]


def check_type(
    name: str, given: Any, kind: type | tuple[type, ...], what: str | None = None
) -> None:
    """Refuse an argument of another type.

    >>> check_type("pattern", 5, str)
    Traceback (most recent call last):
    TypeError: pattern must be a str, not int
    """
    if not isinstance(given, kind):
        expected = f"a {kind.__name__}" if isinstance(kind, type) else what
        raise TypeError(f"{name} must be {what or expected}, not {type(given).__name__}")


def check_path(name: str, path: Any) -> None:
    """Refuse what names no file: Python would take an integer for an open file, and close it.

    >>> check_path("vocab_path", 5)
    Traceback (most recent call last):
    TypeError: vocab_path must be a str or a path, not int
    """
    check_type(name, path, (str, os.PathLike), "a str or a path")
    if "\0" in os.fsdecode(path):
        raise ValueError(f"{name}: no file has the name {path!r:.100}")


def check_word(name: str, given: Any, words: Sequence[str]) -> None:
    """Refuse an argument that is none of a few words, with the sentence of the engine.

    >>> check_word("nulls", "none", ("error", "keep", "empty"))
    Traceback (most recent call last):
    ValueError: nulls: must be error, keep or empty, not "none"
    """
    if given not in words:
        expected = f"{name}: must be {', '.join(words[:-1])} or {words[-1]}"
        if isinstance(given, str):
            raise ValueError(f'{expected}, not "{given}"')
        raise TypeError(f"{expected}, not {given!r}")


def several(name: str, what: str, given: Any) -> Iterator[Any]:
    """Return the items of an argument that must be iterable.

    >>> list(several("batch", "lists of ids", [[97]]))
    [[97]]
    >>> several("batch", "lists of ids", 5)
    Traceback (most recent call last):
    TypeError: batch must be an iterable of lists of ids, not int
    """
    try:
        return iter(given)
    except TypeError:
        if hasattr(given, "__iter__"):  # the error of its own code
            raise
        raise TypeError(
            f"{name} must be an iterable of {what}, not {type(given).__name__}"
        ) from None


class UnknownTokenError(KeyError):
    """An id or a token that a vocabulary does not have.

    >>> str(UnknownTokenError("unknown id 5")), str(KeyError("unknown id 5"))
    ('unknown id 5', "'unknown id 5'")
    """

    def __str__(self) -> str:
        """Return the sentence without quotes, which other keys get."""
        return str(self.args[0])
