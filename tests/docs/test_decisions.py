"""Decisions are few and short, the list names each, and only numbers that have a page are referred to."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/decisions"
PAGES = sorted(page for page in FOLDER.glob("0*.md") if page.name != "0000-template.md")
REFERENCE = re.compile(r"[Dd]ecisions? (\d{4})|decisions/(\d{4})-|\((\d{4})-[a-z0-9-]+\.md")


def referring() -> Iterator[Path]:
    yield from ROOT.glob("*.md")
    for folder, endings in {"docs": "md", "src": "py", "tests": "py", "bench": "py"}.items():
        yield from (ROOT / folder).rglob(f"*.{endings}")


def numbers(text: str) -> set[str]:
    return {number for groups in REFERENCE.findall(text) for number in groups if number}


def test_the_list_has_every_decision_with_its_title() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[\d{4}\]\(([^)]+)\) \| (.+) \|$", listed, re.MULTILINE)
    titles = {page.name: page.read_text(encoding="utf-8").split("\n")[0] for page in PAGES}
    assert {name: title.lower() for name, title in rows} == {
        name: title.partition(": ")[2].lower() for name, title in titles.items()
    }


def test_each_has_a_status_and_a_date() -> None:
    lines = {page.name: page.read_text(encoding="utf-8").split("\n")[1:4] for page in PAGES}
    head = re.compile(r"\nStatus: accepted\b.*\nDate: 2\d{3}-\d\d-\d\d\.")
    assert [name for name, first in lines.items() if not head.fullmatch("\n".join(first))] == []


def test_decisions_are_few_and_short() -> None:
    assert len(PAGES) <= 25
    words = re.compile(r"\S*\w\S*")  # the bars of a table are none
    lengths = {page.name: len(words.findall(page.read_text(encoding="utf-8"))) for page in PAGES}
    assert {name: length for name, length in lengths.items() if length > 300} == {}


def test_only_numbers_with_a_page_are_referred_to() -> None:
    known = {page.name[:4] for page in PAGES}
    unknown = {
        path.relative_to(ROOT).as_posix(): sorted(missing)
        for path in referring()
        if "decision" in (text := path.read_text(encoding="utf-8")).lower()
        and (missing := numbers(text) - known - {"0000"})
    }
    assert unknown == {}


def test_numbers_are_found_in_all_their_forms() -> None:
    text = "Decision 0001, [0002](0002-raw.md), ../decisions/0004-x.md, decisions 0009 and 2026"
    assert numbers(text) == {"0001", "0002", "0004", "0009"}
