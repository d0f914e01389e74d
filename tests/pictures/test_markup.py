"""Text is escaped wherever it is put, and a link leads to a page of the same server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.pictures.markup import element, joined, link
from remora.text import escape_line
from tests.pictures.drawn import HOSTILE, parsed

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cn"]) | st.sampled_from("<>&\"'\x00\u202e"))


@given(TEXT, TEXT)
def test_any_text_comes_back_as_it_is_shown(text: str, value: str) -> None:
    read = parsed(element("text", text, element("title", text), data_name=value))
    assert read.text == (escape_line(text) or None)
    assert "".join(read.itertext()) == escape_line(text) * 2
    assert read.attrib["data-name"].replace("\t", " ") == escape_line(value).replace("\t", " ")


def test_only_markup_is_not_escaped() -> None:
    inner = element("b", HOSTILE)
    assert joined([inner, "<b>"]) == f"{inner}&lt;b&gt;"
    assert (
        element("rect", x=1.25, y=2.0, class_="a", width=None)
        == '<rect x="1.2" y="2" class="a"></rect>'
    )


@pytest.mark.parametrize("href", ["/node?key=a%20b", "/", "#top", "?page=2"])
def test_pages_of_the_server_are_linked(href: str) -> None:
    assert parsed(link(href, "x")).attrib == {"href": href}


@pytest.mark.parametrize(
    "href",
    [
        *("javascript:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x"),
        *("//evil.example", "/\\evil.example", "/\t/evil.example", "https://evil.example", "", "x"),
        *("/a b", "/\u202e", "/x\n"),
    ],
)  # fmt: skip
def test_everything_else_is_no_link(href: str) -> None:
    assert link(href, "x & y") == "x &amp; y"
