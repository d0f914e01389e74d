"""Files with syntax that Remora's Python does not have: nothing is left unread in silence."""

import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, new_repository, write

MINOR = sys.version_info.minor
BODIES = {
    (
        604,
        10,
    ): "def first(values: list[int] | None) -> int | None:\n    return values[0] if values else None\n",
    (612, 10): (
        "from collections.abc import Callable\nfrom typing import ParamSpec\n\nP = ParamSpec('P')\n\n\n"
        "def first(call: Callable[P, int]) -> Callable[P, int]:\n    return call\n"
    ),
    (646, 11): "def first(*shape: *tuple[int, ...]) -> tuple[int, ...]:\n    return shape\n",
    (
        654,
        11,
    ): "def first(work):\n    try:\n        work()\n    except* ValueError as group:\n        return group\n",
    (
        695,
        12,
    ): "type Pair[T] = tuple[T, T]\n\n\ndef first[T](pair: Pair[T]) -> T:\n    return pair[0]\n",
    (
        696,
        13,
    ): "class Box[T = int]:\n    value: T\n\n\ndef first(box: Box[int]) -> int:\n    return box.value\n",
    (701, 12): 'def first(names: dict[str, str]) -> str:\n    return f"Hello {names["first"]}"\n',
    (
        742,
        10,
    ): "from typing import TypeIs\n\n\ndef first(x: object) -> TypeIs[str]:\n    return isinstance(x, str)\n",
    (
        749,
        10,
    ): "class Node:\n    next: Tree\n\n\nclass Tree:\n    pass\n\n\ndef first(node: Node) -> Tree:\n    return node.next\n",
    (750, 14): 'def first(name: str) -> int:\n    return len(t"Hello {name}".strings)\n',
    (
        758,
        14,
    ): "def first(text: str) -> int:\n    try:\n        return int(text)\n    except ValueError, TypeError:\n        return 0\n",
    (
        765,
        10,
    ): "def first(file) -> bool:\n    try:\n        file.close()\n    finally:\n        done = True\n    return done\n",
    (
        798,
        15,
    ): "def first(rows: list[list[int]]) -> list[int]:\n    return [*row for row in rows]\n",
    (
        810,
        15,
    ): "lazy import json\n\n\ndef first(text: str) -> object:\n    return json.loads(text)\n",
}
"""A file for each PEP, by its number and the minor version of the first Python that parses it."""
FILES = {f"pep{pep}.py": f'"""PEP {pep}."""\n\n{body}' for (pep, _), body in BODIES.items()}
NEEDS = {f"pep{pep}.py": minor for pep, minor in BODIES if minor > MINOR}
SAID = r"not (?:checked|judged): (pep\d+\.py):? ?(?:line )?\d+: syntax of Python 3\.(\d+)"
UNREAD = f"{len(NEEDS)} file{'s' * (len(NEEDS) > 1)} could not be read"


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    settings = '[project]\nname = "newer"\nversion = "1"\nrequires-python = ">=3.15"\n'
    write(tmp_path / "newer", {**FILES, "pyproject.toml": settings})
    return new_repository(tmp_path / "newer")


def said(text: str) -> dict[str, int]:
    """Return the version that each unread file needs, as a command says it."""
    return {path: int(minor) for path, minor in re.findall(SAID, text)}


@pytest.mark.slow
def test_check_says_what_was_not_read_and_fails(newer: Path, poor: Remora) -> None:
    done = poor("check", ".", cwd=newer)
    assert (said(done.err), done.code) == (NEEDS, 1 if NEEDS else 0)
    assert (UNREAD in done.out) == bool(NEEDS)
    for path in ("pep695.py", "pep758.py"):
        assert poor("check", path, "pep604.py", cwd=newer).code == (path in NEEDS)
    listed = poor("check", "--json", cwd=newer).document["totals"]["unreadable"]
    assert {file["path"] for file in listed} == {*NEEDS}


def test_a_file_that_no_python_parses_is_an_error_of_the_file(newer: Path, poor: Remora) -> None:
    write(newer, {"broken.py": "type X = (\n"})
    done = poor("check", "broken.py", cwd=newer)
    assert done.code == 1
    assert "not checked: broken.py:1: " in done.err
    assert "syntax of Python" not in done.err


def test_analyze_counts_what_it_did_not_read(newer: Path, poor: Remora) -> None:
    done = poor("analyze", "--dry-run", cwd=newer)
    assert (said(done.out), done.code) == (NEEDS, 0)
    assert (UNREAD in done.out) == bool(NEEDS)
    alone = poor("analyze", "pep810.py", cwd=newer)
    assert alone.code == ("pep810.py" in NEEDS)


def test_judge_names_the_changed_files_that_it_did_not_read(newer: Path, poor: Remora) -> None:
    write(newer, {path: text + "\n\nlast = 1\n" for path, text in FILES.items()})
    done = poor("judge", "--static", cwd=newer)
    assert said(done.err) == NEEDS
    assert (f"{len(FILES)} changed Python files; {UNREAD}" in done.out) == bool(NEEDS)


def test_the_hub_knows_the_functions_of_files_in_newer_syntax(newer: Path, poor: Remora) -> None:
    indexed = poor("hub", "index", "--json", cwd=newer).document
    assert {error["path"] for error in indexed["errors"]} == {*NEEDS}
    assert all("; reinstall it with Python 3." in error["detail"] for error in indexed["errors"])
    for path in FILES:
        node = poor("hub", "get", f"{path}:first", "--json", cwd=newer).document
        assert node["node_type"] == "function"
        assert node["partial"] == (path in NEEDS)
        assert "…" not in node["signature"]
