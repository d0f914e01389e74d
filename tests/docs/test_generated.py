"""Generated reference pages are current, and every command on every page exists."""

import os
import re
import runpy
import shlex
from pathlib import Path

import pytest

from tests.forked_process import warm
from tests.quality.test_readme import commands

DOCS = Path(__file__).parents[2] / "docs"
PAGES = runpy.run_path(str(DOCS / "generate.py"))["PAGES"]
CONSOLE = re.compile(r"(?m)^\$ (remora .*)$")


def shown() -> list[str]:
    """Return the remora commands of all pages that people write."""
    found = set()
    for page in DOCS.rglob("*.md"):
        if page.name not in PAGES:
            text = page.read_text(encoding="utf-8")
            found |= {*commands(text), *CONSOLE.findall(text)}
    plain = (command.partition(" | ")[0].partition(" > ")[0] for command in found)
    return sorted({command for command in plain if command.startswith("remora ")})


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    text = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert text == "".join(PAGES[name]()), "run `make docs`"


@pytest.mark.parametrize("command", shown())
def test_a_command_is_understood(command: str, tmp_path: Path) -> None:
    line = shlex.split(command, comments=True)
    words = line[: line.index("--")] if "--" in line else line
    out, err = tmp_path / "out", tmp_path / "err"
    code = warm().run([*words, "--help"], cwd=DOCS, environ=os.environ, out=out, err=err)
    assert code == 0, err.read_text()


def test_every_page_is_in_the_navigation() -> None:
    navigation = (DOCS.parent / "zensical.toml").read_text(encoding="utf-8")
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    left = [page for page in pages if f'"{page}"' not in navigation]
    assert [page for page in left if not page.startswith("decisions/")] == []
