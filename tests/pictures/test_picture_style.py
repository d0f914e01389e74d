"""Every text is readable on every ground that it is drawn on, in light and dark."""

import re
from importlib import resources

import pytest

STYLE = (resources.files("remora.web") / "static/pictures.css").read_text("utf-8")
COLOURS = {
    name: both for name, *both in re.findall(r"--p-([\w-]+): light-dark\((#\w+), (#\w+)\)", STYLE)
}
PAGE = ("#ffffff", "#121212")
"""The grounds of a page that chooses none."""
GROUNDS = ["good", "quiet", "warn", "bad", "wait"]


def luminance(color: str) -> float:
    digits = color[1:] if len(color) == 7 else "".join(each * 2 for each in color[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_text_has_enough_contrast(ground: str, scheme: int) -> None:
    assert contrast(COLOURS["text"][scheme], COLOURS[ground][scheme]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_labels_and_lines_are_visible_on_the_page(scheme: int) -> None:
    assert contrast(COLOURS["dim"][scheme], PAGE[scheme]) >= 4.5
    for line in ("model", "tools", "checks", "good-edge", "bad-edge", "warn-edge"):
        assert contrast(COLOURS[line][scheme], PAGE[scheme]) >= 3


def test_the_style_loads_nothing() -> None:
    assert not re.search(r"url\(|@import|https?:", STYLE)
