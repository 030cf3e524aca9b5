"""Tokens in, text out in which one sees where each begins: coloured on a terminal, barred elsewhere."""

from __future__ import annotations

import os
import sys

from bpetite.tokenizer import Tokenizer

_BACKGROUNDS = (153, 157, 223, 218, 189)
_RESET = "\x1b[0m"


def colours_wanted() -> bool:
    """Whether stdout is a terminal whose user did not ask for plain text."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured_tokens(tokenizer: Tokenizer, text: str) -> str:
    """Return the text with its tokens told apart; a token that is part of a character shows its bytes."""
    tokens = [tokenizer.token_bytes(token_id) for token_id in tokenizer.encode(text)]
    shown = [_shown(token) for token in tokens]
    if not colours_wanted():
        return "|".join(shown)
    painted = []
    for place, token in enumerate(shown):
        colour = f"\x1b[38;5;16;48;5;{_BACKGROUNDS[place % len(_BACKGROUNDS)]}m"
        painted.append("\n".join(f"{colour}{line}{_RESET}" if line else "" for line in token.split("\n")))
    return "".join(painted)


def _shown(token: bytes) -> str:
    try:
        return token.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(f"<{byte:02x}>" for byte in token)
