"""Points in, inline SVG out. Text in a plot is escaped; colours come from the page's style."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT = 720, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 14, 46

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """A scale that maps a range of values to a length."""

    label: str
    low: float
    high: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Map a value to a number between 0 and 1."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        return (self._scaled(value) - low) / (high - low) if high > low else 0.5

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value

    def ticks(self) -> list[float]:
        """Round values within the range: powers of ten, or steps of 1, 2 or 5.

        >>> Axis("", 0, 9.5).ticks()
        [0.0, 2.0, 4.0, 6.0, 8.0]
        >>> Axis("", 1, 5000, logarithmic=True).ticks()
        [1.0, 10.0, 100.0, 1000.0]
        """
        if self.logarithmic:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            ticks = [10.0**power for power in powers]
            if len(ticks) >= 3:
                return ticks
            finer = [
                step * 10.0**power for power in range(powers.start - 1, powers.stop) for step in (1, 2, 5)
            ]
            return [tick for tick in finer if self.low <= tick <= self.high]
        step = _round_step((self.high - self.low) / 5)
        first = math.ceil(self.low / step)
        return [place * step for place in range(first, math.floor(self.high / step) + 1)]


def _round_step(rough: float) -> float:
    """Round a step down or up to the nearest of 1, 2, 5 times a power of ten."""
    if rough <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return min((power * factor for factor in (1, 2, 5, 10)), key=lambda step: abs(step - rough))


def line_plot(title: str, x: Axis, y: Axis, lines: Sequence[tuple[str, Sequence[Point]]]) -> str:
    """Draw lines, each with its name; a single line needs none."""
    drawn = []
    for place, (_, points) in enumerate(lines):
        path = " ".join(f"{_x(x, px):.1f},{_y(y, py):.1f}" for px, py in points)
        drawn.append(f'<polyline class="line l{place}" points="{path}"/>')
    names = [name for name, _ in lines] if len(lines) > 1 else []
    return _figure(title, x, y, [*drawn, *_legend(names)])


def bar_plot(title: str, x: Axis, y: Axis, bars: Sequence[Point]) -> str:
    """Draw bars one unit wide."""
    drawn = []
    for value, height in bars:
        left, right, top = _x(x, value - 0.42), _x(x, value + 0.42), _y(y, height)
        drawn.append(
            f'<rect class="bar" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{_HEIGHT - _BOTTOM - top:.1f}"/>'
        )
    return _figure(title, x, y, drawn)


def named_bars(title: str, rows: Sequence[tuple[str, float]]) -> str:
    """Draw a horizontal bar for each name."""
    height = 30 * len(rows) + 8
    most = max((value for _, value in rows), default=0) or 1
    drawn = []
    for place, (name, value) in enumerate(rows):
        middle = 30 * place + 19
        width = 440 * value / most
        shown = name if len(name) <= 28 else f"{name[:12]}…{name[-14:]}"
        drawn.append(
            f'<text class="name" x="206" y="{middle + 5}">{html.escape(shown)}</text>'
            f'<rect class="bar" x="216" y="{middle - 9}" width="{width:.1f}" height="18"/>'
            f'<text x="{222 + width:.1f}" y="{middle + 5}">{value:.2f}</text>'
        )
    return _svg(title, height, drawn)


def _x(axis: Axis, value: float) -> float:
    return _LEFT + axis.place(value) * (_WIDTH - _LEFT - _RIGHT)


def _y(axis: Axis, value: float) -> float:
    return _HEIGHT - _BOTTOM - axis.place(value) * (_HEIGHT - _TOP - _BOTTOM)


def _figure(title: str, x: Axis, y: Axis, drawn: Sequence[str]) -> str:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for tick in y.ticks():
        place = _y(y, tick)
        parts.append(
            f'<line class="rule" x1="{_LEFT}" x2="{right}" y1="{place:.1f}" y2="{place:.1f}"/>'
            f'<text class="y" x="{_LEFT - 8}" y="{place + 4:.1f}">{_number(tick)}</text>'
        )
    parts += [f'<text class="x" x="{_x(x, t):.1f}" y="{bottom + 18}">{_number(t)}</text>' for t in x.ticks()]
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    middle = (_TOP + bottom) / 2
    parts.append(
        f'<text class="label x" x="{(_LEFT + right) / 2}" y="{_HEIGHT - 6}">{html.escape(x.label)}</text>'
    )
    parts.append(
        f'<text class="label x" transform="translate(14 {middle}) rotate(-90)">{html.escape(y.label)}</text>'
    )
    return _svg(title, _HEIGHT, [*parts, *drawn])


def _legend(names: Sequence[str]) -> list[str]:
    return [
        f'<line class="line l{place}" x1="{_LEFT + 14}" x2="{_LEFT + 40}" y1="{_TOP + 12 + 20 * place}" '
        f'y2="{_TOP + 12 + 20 * place}"/>'
        f'<text x="{_LEFT + 48}" y="{_TOP + 16 + 20 * place}">{html.escape(name)}</text>'
        for place, name in enumerate(names)
    ]


def _svg(title: str, height: int, drawn: Sequence[str]) -> str:
    inside = f"<title>{html.escape(title)}</title>{''.join(drawn)}"
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img">{inside}</svg>'


def _number(value: float) -> str:
    """Write a tick.

    >>> _number(2000000.0), _number(12000.0), _number(0.5), _number(3.0)
    ('2M', '12k', '0.5', '3')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
