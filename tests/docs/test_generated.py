"""Generated reference pages are current, and every command on every page exists."""

import re
import runpy
from pathlib import Path

import pytest

from remora.memory.events import PAYLOADS
from tests.quality.test_readme import commands, what_is_not_understood

DOCS = Path(__file__).parents[2] / "docs"
STORED = "configuration.md"
MADE = runpy.run_path(str(DOCS / "generate.py"))
PAGES, WITH_BLOCKS = (
    MADE["PAGES"],
    [DOCS / "reference/agents.md", *DOCS.glob("reference/operations/*.md")],
)
CONSOLE = re.compile(r"(?m)^\$ (remora .*)$")
SHELL = re.compile(r"(?ms)^```sh\n(.*?)^```")


def shown() -> list[str]:
    """Return the remora commands of all pages that people write."""
    found = set()
    for page in DOCS.rglob("*.md"):
        if page.name not in PAGES:
            text = page.read_text(encoding="utf-8")
            found |= {*commands(text), *CONSOLE.findall(text)}
            found |= {line for block in SHELL.findall(text) for line in block.splitlines()}
    plain = (re.split(r" (?:[|>]|\|\|) ", command)[0] for command in found)
    return sorted({command for command in plain if command.startswith("remora ")})


def test_the_stored_generated_page_is_current() -> None:
    text = (DOCS / "reference" / STORED).read_text(encoding="utf-8")
    assert text == "".join(PAGES[STORED]()), "run `make docs`"


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.stem)
def test_the_tables_of_a_page_are_current(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert MADE["BLOCK"].search(text)
    assert text == MADE["with_blocks"](text), "run `make docs`"


def test_every_table_that_is_made_is_on_a_page() -> None:
    texts = [page.read_text(encoding="utf-8") for page in WITH_BLOCKS]
    names = {name for text in texts for _, name, _ in MADE["BLOCK"].findall(text)}
    assert names == set(MADE["BLOCKS"])


@pytest.mark.parametrize("name", sorted({*PAGES} - {STORED}))
def test_git_ignores_pages_of_the_site_and_no_stored_page_links_to_them(name: str) -> None:
    ignored = (DOCS.parent / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert f"docs/reference/{name}" in ignored
    pages = [DOCS.parent / "README.md", *(p for p in DOCS.rglob("*.md") if p.name not in PAGES)]
    assert [page for page in pages if f"{name})" in page.read_text(encoding="utf-8")] == []


def test_the_page_of_events_has_every_type_and_record() -> None:
    text = "".join(PAGES["events-and-packets.md"]())
    for record in PAYLOADS.values():
        assert f"\n### {record.__name__}\n" in text
    assert [kind for kind in PAYLOADS if f"| `{kind}` |" not in text] == []


def test_commands_are_understood(tmp_path: Path) -> None:
    mine = [command.partition(" -- ")[0] for command in shown()]
    assert len(mine) > 50
    assert what_is_not_understood(mine, tmp_path) == ""


def test_every_page_is_in_the_navigation() -> None:
    navigation = (DOCS.parent / "zensical.toml").read_text(encoding="utf-8")
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    left = [page for page in pages if f'"{page}"' not in navigation]
    assert [page for page in left if not page.startswith("decisions/")] == []
