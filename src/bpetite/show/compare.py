"""Shows the tokens of several tokenizers for one text, to compare them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from bpetite._internal.arguments import check_type
from bpetite._internal.types import Special
from bpetite.encoding.display import ShownText, coloured, per_token, plain
from bpetite.tokenizer import Tokenizer

_MOST = 500
"""The maximum number of tokens that are shown as text; a notebook shows more."""


class Comparison:
    """What `compare` returns: coloured tokens in a notebook, plain text elsewhere.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> compare(tok, tok, text="ab ab").same
    True
    """

    def __init__(self, text: str, shown: Mapping[str, ShownText]) -> None:
        check_type("text", text, str)
        check_type("shown", shown, Mapping, "a mapping of names to what show returns")
        self.text = text
        self.shown = dict(shown)

    @property
    def same(self) -> bool:
        """Whether all give the same ids.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> compare(tok, tok.truncate(257), text="ab ab").same
        False
        """
        ids = [[token.token_id for token in shown.tokens] for shown in self.shown.values()]
        return all(of_other == ids[0] for of_other in ids)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each tokenizer, for a table of pandas or polars.

        >>> [row] = compare(Tokenizer.train("ab ab ab", 258), text="é é").rows()
        >>> row["tokenizer"], row["tokens"], row["bytes_per_token"], row["characters_per_token"]
        ('a', 5, 1.0, 0.6)
        """
        size = len(self.text.encode("utf-8"))
        return [
            {
                "tokenizer": name,
                "tokens": len(shown.tokens),
                "bytes": size,
                "bytes_per_token": per_token(size, len(shown.tokens)),
                "characters_per_token": per_token(len(self.text), len(shown.tokens)),
                "ids": [token.token_id for token in shown.tokens],
            }
            for name, shown in self.shown.items()
        ]

    def lines(self, *, colours: bool) -> list[str]:
        """Return a table, and below it the tokens of each (of many, the first).

        >>> compare(Tokenizer.train("ab ab ab", 258), text="ab ab").lines(colours=False)[3:]
        ['a', 'ab| ab', '256 257']
        """
        rows = self.rows()
        width = max(len(row["tokenizer"]) for row in rows)
        lines = [
            f"{row['tokenizer']:<{width}}  {row['tokens']:>12,} tokens  "
            f"{row['bytes_per_token']:6.2f} bytes per token"
            for row in rows
        ]
        lines.append("the ids are the same" if self.same else "the ids differ")
        paint = coloured if colours else plain
        for row, shown in zip(rows, self.shown.values(), strict=True):
            ids = " ".join(map(str, row["ids"][:_MOST]))
            lines += ["", row["tokenizer"], paint(shown.tokens[:_MOST]), ids]
        if any(row["tokens"] > _MOST for row in rows):
            lines += ["", f"(the first {_MOST} tokens of each)"]
        return lines

    def __repr__(self) -> str:
        return "\n".join(self.lines(colours=False))

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        cells = "".join(
            f'<td style="vertical-align:top;text-align:left;width:{100 // len(self.shown)}%">'
            f"<b>{html.escape(name)}</b>{shown._repr_html_()}</td>"
            for name, shown in self.shown.items()
        )
        return f"<table style='width:100%'><tr>{cells}</tr></table>"


def compare(
    *tokenizers: Tokenizer, text: str, special: Special = "parse", **named: Tokenizer
) -> Comparison:
    """Show how tokenizers cut the same text, side by side; keywords name them.

    >>> a = Tokenizer.train("ab ab ab", 258)
    >>> compare(before=a, after=a.truncate(257), text="ab ab")
    before             2 tokens    2.50 bytes per token
    after              3 tokens    1.67 bytes per token
    the ids differ
    <BLANKLINE>
    before
    ab| ab
    256 257
    <BLANKLINE>
    after
    ab| |ab
    256 32 256
    """
    letters = {chr(ord("a") + place): tokenizer for place, tokenizer in enumerate(tokenizers)}
    everything = letters | named
    if not everything:
        raise ValueError("there is no tokenizer to compare: write compare(a, b, text=...)")
    for name, tokenizer in everything.items():
        check_type(f"tokenizer {name}", tokenizer, Tokenizer, "a Tokenizer")
    shown = {name: tokenizer.show(text, special=special) for name, tokenizer in everything.items()}
    return Comparison(text, shown)
