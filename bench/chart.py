"""The bar chart of the README: megabytes a second of each library, as SVG for light and for dark pages.

`bench.section` writes both files whenever it writes the README's table, from the same figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape


class Bar(NamedTuple):
    """A library with its rates."""

    library: str
    first: float
    """MB/s of the first pass of a fresh process."""
    later: float
    """MB/s of later passes."""


class Colors(NamedTuple):
    """The colours of a page."""

    text: str
    muted: str
    ours: str
    others: str


THEMES: Mapping[str, Colors] = {
    "light": Colors(text="#1f2328", muted="#59636e", ours="#1a7f5a", others="#9aa4ae"),
    "dark": Colors(text="#e6edf3", muted="#9198a1", ours="#3fb98a", others="#5c6570"),
}
"""GitHub's two themes: text that can be read on each."""

WIDTH = 760
NAMES = 130
"""The width of the column of names."""

LABELS = 50
"""The room for a number behind the longest bar."""

ROW = 34
HEAD = 46


def chart(title: str, bars: Sequence[Bar], theme: Colors) -> str:
    """Return the chart as SVG: for each library a bar of later passes, and a stronger one of the first."""
    fastest = max(bar.later for bar in bars)
    scale = (WIDTH - NAMES - LABELS) / fastest
    height = HEAD + ROW * len(bars) + 4
    label = escape(title, {'"': "&quot;"})
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-label="{label}" '
        'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13">',
        f"<title>{escape(title)}</title>",
        f'<text x="0" y="16" fill="{theme.text}" font-size="15" font-weight="600">{escape(title)}</text>',
        f'<text x="0" y="34" fill="{theme.muted}">MB/s of one thread; '
        "upper bar: first pass of a fresh process, lower bar: later passes</text>",
    ]
    for place, bar in enumerate(bars):
        lines += _row(bar, HEAD + ROW * place, scale, theme)
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _row(bar: Bar, top: int, scale: float, theme: Colors) -> list[str]:
    """Return the name and the two bars of a library."""
    is_ours = bar.library.startswith("bpetite")
    color = theme.ours if is_ours else theme.others
    weight = ' font-weight="600"' if is_ours else ""
    lines = [f'<text x="0" y="{top + 20}" fill="{theme.text}"{weight}>{escape(bar.library)}</text>']
    for offset, rate, opacity in ((4, bar.first, 1), (17, bar.later, 0.55)):
        if rate <= 0:
            continue
        width = rate * scale
        y = top + offset
        lines.append(
            f'<rect x="{NAMES}" y="{y}" width="{width:.1f}" height="11" rx="2" '
            f'fill="{color}" fill-opacity="{opacity}"/>'
        )
        after = NAMES + width + 6
        lines.append(
            f'<text x="{after:.1f}" y="{y + 9}" fill="{theme.muted}" font-size="11">{rate:.0f}</text>'
        )
    return lines
