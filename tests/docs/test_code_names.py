"""Modules, folders and names of the code that pages mention exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/remora"
PARTS = {path.name for path in SOURCE.iterdir() if path.is_dir()}
PAGES = [
    page
    for page in (ROOT / "docs").rglob("*.md")
    if page.name not in ("cli.md", "events-and-packets.md")
]


def exists(name: str) -> bool:
    """True if a path like `hub/store/` or a dotted name like `memory.budget.fit` is in the code."""
    if "/" in name:
        return any(SOURCE.glob(name.rstrip("/")))
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        path = SOURCE.joinpath(*parts[:count])
        if path.is_dir():
            return count == len(parts)
        module = path.with_suffix(".py")
        if module.is_file():
            text = module.read_text(encoding="utf-8")
            return all(re.search(rf"\b{part}\b", text) for part in parts[count:])
    return False


def mentioned(text: str) -> set[str]:
    paths = set(re.findall(r"`([\w./*]+/[\w./*]*)`", text))
    dotted = set(re.findall(r"`((?:\w+\.){2,}\w+)`", text))
    return {name for name in paths | dotted if re.split(r"[./]", name)[0] in PARTS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_names_on_a_page_exist(page: Path) -> None:
    names = mentioned(page.read_text(encoding="utf-8"))
    names = {name for name in names if not name.startswith(("hub.db.", "operations.NAME."))}
    assert sorted(name for name in names if not exists(name)) == []


def test_a_missing_name_is_found() -> None:
    found = mentioned("`hub/rungs/` `memory.budget.gone_name` `memory.budget.fit` `tests/a.py`")
    assert sorted(found) == ["hub/rungs/", "memory.budget.fit", "memory.budget.gone_name"]
    assert [name for name in sorted(found) if exists(name)] == ["memory.budget.fit"]
