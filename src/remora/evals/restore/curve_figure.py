"""Curves of precision against coverage, as an SVG figure."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from remora.text import escape_line

_WIDTH, _HEIGHT, _LEFT, _TOP = 380, 220, 62, 14
_COLORS = ("var(--wait)", "var(--good)", "var(--warn)", "var(--bad)", "var(--dim)")
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_LEGEND = 18


def curve_figure(arms: Sequence[Mapping[str, Any]]) -> str:
    """Return a figure with one curve per arm, or a point if an arm gives no probabilities."""
    height = _TOP + _HEIGHT + 40 + _LEGEND * len(arms)
    lines = [
        f'<svg viewBox="0 0 {_LEFT + _WIDTH + 20} {height}" role="img" class="curve">',
        "<title>Precision against coverage</title>",
        *_axes(),
    ]
    for number, arm in enumerate(arms):
        color = _COLORS[number % len(_COLORS)]
        lines += _arm(arm, color)
        lines += _legend(arm, color, _TOP + _HEIGHT + 48 + _LEGEND * number)
    return "\n".join([*lines, "</svg>"])


def _axes() -> Iterator[str]:
    for tick in _TICKS:
        x, y = _x(tick), _y(tick)
        yield f'<path d="M{_x(0)} {y}H{_x(1)}M{x} {_y(0)}V{_y(1)}" class="grid"/>'
        yield f'<text x="{x}" y="{_y(0) + 15}" text-anchor="middle">{tick:.0%}</text>'
        yield f'<text x="{_x(0) - 6}" y="{y + 4}" text-anchor="end">{tick:.0%}</text>'
    yield f'<text x="{_x(0.5)}" y="{_y(0) + 31}" text-anchor="middle">coverage</text>'
    turned = f"translate(14 {_y(0.5)}) rotate(-90)"
    yield f'<text transform="{turned}" text-anchor="middle">precision</text>'


def _arm(arm: Mapping[str, Any], color: str) -> Iterator[str]:
    points = [(coverage, precision) for coverage, precision, _ in arm["curve"]]
    if len(points) > 1:
        path = " ".join(f"{_x(coverage)},{_y(precision)}" for coverage, precision in points)
        yield f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'
    if arm["precision"] is not None:
        x, y = _x(arm["coverage"]), _y(arm["precision"])
        yield f'<circle cx="{x}" cy="{y}" r="4" fill="{color}"/>'


def _legend(arm: Mapping[str, Any], color: str, y: int) -> Iterator[str]:
    yield f'<circle cx="{_LEFT + 6}" cy="{y - 4}" r="4" fill="{color}"/>'
    yield f'<text x="{_LEFT + 16}" y="{y}">{escape(escape_line(arm["name"]))}</text>'


def _x(share: float) -> float:
    return round(_LEFT + share * _WIDTH, 1)


def _y(share: float) -> float:
    return round(_TOP + (1 - share) * _HEIGHT, 1)
