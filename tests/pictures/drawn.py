"""Reads a picture like a browser: its elements, its texts and its rectangles."""

from typing import NamedTuple
from xml.etree import ElementTree as ET

HOSTILE = "<script>alert(1)</script>\"'&amp;\x00\x1b[31m\u202e\u2066\ud800\n"
"""A name that a page, a terminal or a reader's eye would obey."""


class Box(NamedTuple):
    x: float
    y: float
    right: float
    bottom: float


def parsed(picture: str) -> ET.Element:
    """The picture, which is also valid XML."""
    return ET.fromstring(picture)


def boxes(picture: str, *kinds: str) -> list[Box]:
    """The rectangles whose class begins with one of `kinds`."""
    return [
        Box(x, y, x + float(each.attrib["width"]), y + float(each.attrib["height"]))
        for each in parsed(picture).iter("rect")
        if each.attrib["class"].startswith(kinds)
        for x, y in [(float(each.attrib["x"]), float(each.attrib["y"]))]
    ]


def height(picture: str) -> float:
    (drawing,) = parsed(picture).iter("svg")
    return float(drawing.attrib["viewBox"].split()[3])


def texts(picture: str, tag: str) -> list[str]:
    return ["".join(each.itertext()) for each in parsed(picture).iter(tag)]


def assert_harmless(picture: str) -> None:
    """Nothing in the picture runs, loads, styles or hides anything."""
    allowed = {
        *("figure", "figcaption", "strong", "ul", "li", "span", "div", "details", "summary"),
        *("table", "tr", "th", "td", "p", "svg", "title", "desc", "g", "rect", "path", "text", "a"),
    }
    for each in parsed(picture).iter():
        assert each.tag in allowed
        assert not [name for name in each.attrib if name.startswith("on") or name == "style"]
        assert each.tag != "a" or each.attrib["href"].startswith(("/node?", "/job?"))
    assert not {"\x00", "\x1b", "\u202e", "\u2066", "\ud800", "\n"} & set(picture)
