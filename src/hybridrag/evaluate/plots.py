"""Small plots as SVG text, drawn by hand: a report is one page that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from hybridrag.evaluate.resample import BootstrapInterval

COLOURS = ("#4477aa", "#66a61e", "#cc6677", "#b8860b", "#7a4fa3", "#2a9d8f", "#888888", "#d95f02", "#1b9e77", "#a6761d")
"""Told apart by people who do not tell red from green, in this order."""
LABEL_WIDTH = 150
PLOT_WIDTH = 480
ROW = 18
GAP = 10
AXIS = 26


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a plot: its name and its points, each within the unit square."""

    name: str
    points: Sequence[tuple[float, float]]


def bars(title: str, groups: Mapping[str, Mapping[str, BootstrapInterval]]) -> str:
    """Horizontal bars from 0 to 1 with whiskers, in groups; the same name has the same colour.

    ("nDCG@10", {"local": {"keyword": BootstrapInterval(...)}}) -> "<svg ...>"
    """
    names = _names(groups.values())
    parts: list[str] = []
    top = GAP
    for group, values in groups.items():
        parts.append(_text(4, top + ROW * 0.7, group, bold=True))
        top += ROW
        for name, value in values.items():
            parts.append(_bar(top, name, value, COLOURS[names.index(name) % len(COLOURS)]))
            top += ROW
        top += GAP
    parts.append(_unit_axis(top))
    return _svg(title, top + AXIS, parts)


def stacks(title: str, rows: Mapping[str, Mapping[str, float]], *, unit: str) -> str:
    """One bar a row, its parts side by side, with the colours explained below.

    ("time by step", {"hybrid": {"keyword": 3.0, "semantic": 9.0}}, unit="ms") -> "<svg ...>"
    """
    names = _names(rows.values())
    longest = max((sum(row.values()) for row in rows.values()), default=0.0) or 1.0
    parts: list[str] = []
    top = GAP
    for label, row in rows.items():
        parts.append(_text(4, top + ROW * 0.7, label))
        left = float(LABEL_WIDTH)
        for name, value in row.items():
            width = value / longest * PLOT_WIDTH
            parts.append(_rectangle(left, top, width, COLOURS[names.index(name) % len(COLOURS)], f"{name} {value:.1f}"))
            left += width
        parts.append(_text(left + 4, top + ROW * 0.7, f"{sum(row.values()):.0f} {unit}"))
        top += ROW + 4
    return _svg(title, top + _legend_height(names), [*parts, *_legend(names, top + GAP)])


def lines(title: str, drawn: Sequence[Line], *, across: str, up: str, most: float = 1.0) -> str:
    """Lines over the unit square; `most` is what 1 stands for on the axis across.

    ("accuracy", [Line("hybrid", [(0.5, 1.0), (1.0, 0.8)])], across="coverage", up="accuracy") -> "<svg ...>"
    """
    height = 200.0
    right, bottom = LABEL_WIDTH + PLOT_WIDTH, GAP + height
    parts = [
        f'<line x1="{LABEL_WIDTH}" y1="{bottom}" x2="{right}" y2="{bottom}" class="axis"/>',
        f'<line x1="{LABEL_WIDTH}" y1="{GAP}" x2="{LABEL_WIDTH}" y2="{GAP + height}" class="axis"/>',
        _text(LABEL_WIDTH - 30, GAP + 8, "1"),
        _text(LABEL_WIDTH - 30, GAP + height, "0"),
        _text(4, GAP + height / 2, up),
    ]
    for tick in range(5):
        share = tick / 4
        parts.append(_text(LABEL_WIDTH + share * PLOT_WIDTH - 8, GAP + height + 14, f"{share * most:.3g}"))
    parts.append(_text(LABEL_WIDTH + PLOT_WIDTH / 2, GAP + height + 28, across))
    for number, line in enumerate(drawn):
        points = " ".join(f"{LABEL_WIDTH + x * PLOT_WIDTH:.1f},{GAP + height - y * height:.1f}" for x, y in line.points)
        colour = COLOURS[number % len(COLOURS)]
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6">'
            f"<title>{escape(line.name)}</title></polyline>"
        )
    names = [line.name for line in drawn]
    top = GAP + height + 36
    return _svg(title, top + _legend_height(names), [*parts, *_legend(names, top)])


def _bar(top: float, name: str, value: BootstrapInterval, colour: str) -> str:
    middle = top + ROW / 2 - 2
    low, high = LABEL_WIDTH + value.low * PLOT_WIDTH, LABEL_WIDTH + value.high * PLOT_WIDTH
    told = f"{name}: {value.mean:.3f}, from {value.low:.3f} to {value.high:.3f}, {value.count} questions"
    return "".join(
        (
            _text(14, top + ROW * 0.65, name),
            _rectangle(LABEL_WIDTH, top, value.mean * PLOT_WIDTH, colour, told),
            f'<line x1="{low:.1f}" y1="{middle:.1f}" x2="{high:.1f}" y2="{middle:.1f}" class="whisker"/>',
            _text(LABEL_WIDTH + PLOT_WIDTH + 8, top + ROW * 0.65, f"{value.mean:.3f}"),
        )
    )


def _unit_axis(top: float) -> str:
    ticks = "".join(
        _text(LABEL_WIDTH + share * PLOT_WIDTH - 8, top + 12, f"{share:g}") for share in (0, 0.25, 0.5, 0.75, 1)
    )
    return f'<line x1="{LABEL_WIDTH}" y1="{top}" x2="{LABEL_WIDTH + PLOT_WIDTH}" y2="{top}" class="axis"/>{ticks}'


def _rectangle(left: float, top: float, width: float, colour: str, told: str) -> str:
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(0.0, width):.1f}" height="{ROW - 4}" fill="{colour}">'
        f"<title>{escape(told)}</title></rect>"
    )


def _text(left: float, top: float, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{left:.1f}" y="{top:.1f}"{weight}>{escape(text)}</text>'


def _legend(names: Sequence[str], top: float) -> list[str]:
    parts: list[str] = []
    for number, name in enumerate(names):
        left, row = LABEL_WIDTH + number % 4 * 130, top + number // 4 * ROW
        parts.append(_rectangle(left, row, 12, COLOURS[number % len(COLOURS)], name))
        parts.append(_text(left + 16, row + ROW * 0.65, name))
    return parts


def _legend_height(names: Sequence[str]) -> float:
    return GAP + ROW * ((len(names) + 3) // 4) + GAP


def _names(rows: Iterable[Iterable[str]]) -> list[str]:
    """Every name, in the order of its first appearance: what colours go by."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    width = LABEL_WIDTH + PLOT_WIDTH + 70
    return (
        f'<svg viewBox="0 0 {width} {height:.0f}" width="{width}" role="img" aria-label="{escape(title, quote=True)}">'
        f"{''.join(parts)}</svg>"
    )
