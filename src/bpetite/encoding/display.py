"""Tokens in, text out that shows where each begins: for terminals, for notebooks, and plain.

Nothing in a token can affect the display: control characters, bidirectional controls and incomplete
characters are written as codes, and HTML is escaped.
"""

from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import NamedTuple

from bpetite._internal.integers import counted

_TERMINAL_BACKGROUNDS = (153, 157, 223, 218, 189)
_TERMINAL_SPECIAL = "\x1b[1;38;5;231;48;5;60m"
_TERMINAL_RESET = "\x1b[0m"

_HTML_BACKGROUNDS = ("#cfe3f7", "#d5ecc8", "#fbe3b6", "#f6d0dc", "#ded6f3")
_HTML_SPECIAL = "#4b5a86"


class ShownToken(NamedTuple):
    """A token as it is shown."""

    token_id: int
    token: bytes
    special: bool = False


def visible(token: bytes) -> str:
    """Return a token's text with codes for invisible characters, and bytes for an incomplete character.

    >>> visible(b"tab\\tnul\\x00"), visible("a日".encode()[:3]), visible("\\u202e".encode())
    ('tab\\tnul<00>', 'a<e6><97>', '<U+202E>')
    """
    return "".join(map(_visible_character, token.decode("utf-8", errors="surrogateescape")))


def _visible_character(character: str) -> str:
    if character in "\n\t" or character.isprintable():
        return character
    from unicodedata import category

    if category(character) == "Zs":
        return " "
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of an incomplete character
        return f"<{code - 0xDC00:02x}>"
    return f"<{code:02x}>" if code < 0x80 else f"<U+{code:04X}>"


def plain(tokens: Iterable[ShownToken]) -> str:
    """Return the tokens with bars between them.

    >>> plain([ShownToken(1, b"low"), ShownToken(2, b"er")])
    'low|er'
    """
    return "|".join(visible(shown.token) for shown in tokens)


def coloured(tokens: Iterable[ShownToken]) -> str:
    """Return the tokens on alternating backgrounds, by escape sequences of terminals."""
    painted = []
    for place, shown in enumerate(tokens):
        background = _TERMINAL_BACKGROUNDS[place % len(_TERMINAL_BACKGROUNDS)]
        colour = _TERMINAL_SPECIAL if shown.special else f"\x1b[38;5;16;48;5;{background}m"
        *ended, last = visible(shown.token).split("\n")
        lines = [*(f"{line}↵" for line in ended), last]
        painted.append(
            "\n".join(f"{colour}{line}{_TERMINAL_RESET}" if line else "" for line in lines)
        )
    return "".join(painted)


def per_token(size: int, tokens: int) -> float:
    """Return the mean size of a token, in what `size` counts; 0 if there is none."""
    return size / tokens if tokens else 0.0


class ShownText:
    """What `Tokenizer.show` returns: coloured tokens in a notebook, plain text elsewhere.

    >>> ShownText([ShownToken(256, b"low"), ShownToken(101, b"e")])
    low|e
    2 tokens, 4 bytes, 2.00 bytes per token
    """

    MOST_TOKENS = 5000
    """The maximum number of tokens that a notebook shows."""

    def __init__(self, tokens: Sequence[ShownToken]) -> None:
        self.tokens = tuple(tokens)

    @property
    def summary(self) -> str:
        """The numbers of tokens and bytes."""
        size = sum(len(shown.token) for shown in self.tokens)
        each = per_token(size, len(self.tokens))
        rate = f", {each:.2f} bytes per token" if each else ""
        return f"{counted(len(self.tokens), 'token')}, {counted(size, 'byte')}{rate}"

    def __repr__(self) -> str:
        return f"{plain(self.tokens)}\n{self.summary}"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        import html  # slow to import

        drawn = "".join(starmap(_token_html, enumerate(self.tokens[: self.MOST_TOKENS])))
        left_out = len(self.tokens) - self.MOST_TOKENS
        more = f"<p>… and {left_out:,} tokens more</p>" if left_out > 0 else ""
        return (
            '<div style="font:14px/1.9 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere">'
            f'{drawn}{more}<p style="font:13px system-ui,sans-serif">{html.escape(self.summary)}</p></div>'
        )


def _token_html(place: int, shown: ShownToken) -> str:
    import html  # slow to import

    background = (
        _HTML_SPECIAL if shown.special else _HTML_BACKGROUNDS[place % len(_HTML_BACKGROUNDS)]
    )
    ink = "#ffffff" if shown.special else "#1d232a"
    text = html.escape(visible(shown.token)).replace("\n", "↵\n")
    title = html.escape(f"id {shown.token_id}: {shown.token.hex(' ')}")
    return (
        f'<bdi title="{title}" style="background:{background};color:{ink};border-radius:3px;padding:1px 0">'
        f"{text}</bdi>"
    )
