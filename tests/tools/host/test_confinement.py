"""No path given to any host function leads out of the tree."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WITH_A_PATH: dict[str, list[Any]] = {
    "read_text": [],
    "edit_text": [1, "root", "x"],
    "write_new_file": ["text"],
    "parse_python": [],
    "file_findings": [["__module__"]],
}


def plant(tree: Path, kind: str) -> str:
    """A path that must be refused, and what lies behind it."""
    outside = tree.parent / "secret.py"
    outside.write_text("import os\n")
    if kind == "link":
        (tree / "link.py").symlink_to(outside)
        return "link.py"
    if kind == "folder link":
        (tree / "out").symlink_to(tree.parent)
        return "out/secret.py"
    if kind == "fifo":
        os.mkfifo(tree / "pipe.py")
        return "pipe.py"
    if kind == "folder":
        (tree / "folder.py").mkdir()
        return "folder.py"
    named = {"absolute": str(outside), "up": "../secret.py", "inner up": "a/../../secret.py"}
    return {**named, "option": "-rf.py", "empty": "", "nul": "a\0.py"}[kind]


KINDS = [
    "link", "folder link", "fifo", "folder", "absolute", "up", "inner up", "option", "empty", "nul",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WITH_A_PATH)
def test_a_path_that_leads_elsewhere_is_refused(
    tree: Path, refusal: Callable[..., str], name: str, kind: str
) -> None:
    path = plant(tree, kind)

    assert refusal(name, path, *WITH_A_PATH[name])
    assert (tree.parent / "secret.py").read_text() == "import os\n"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("folder", "empty")])
def test_ruff_is_started_on_no_such_path(
    tree: Path, refusal: Callable[..., str], kind: str
) -> None:
    assert refusal("ruff_check", [plant(tree, kind)])


def test_ruff_reports_nothing_that_a_link_in_a_folder_shows(
    tree: Path, call: Callable[..., Any]
) -> None:
    plant(tree, "link")
    plant(tree, "folder link")
    (tree / "own.py").write_text("import sys\n")

    found = call("ruff_check", ["."], ["F"])

    assert {finding["path"] for finding in found} == {"own.py"}


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "a/../../*"])
def test_a_pattern_stays_below_the_root(refusal: Callable[..., str], pattern: str) -> None:
    assert refusal("list_files", pattern)


@pytest.mark.parametrize("pattern", ["**/" * 20 + "x", "*" * 201])
def test_a_pattern_that_would_take_forever_is_refused(
    refusal: Callable[..., str], pattern: str
) -> None:
    assert "maximum" in refusal("list_files", pattern)


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "sub/.git/config", ".agentfs/x"])
def test_version_control_and_recordings_are_not_written(
    tree: Path, refusal: Callable[..., str], path: str
) -> None:
    assert "tools must not change" in refusal("write_new_file", path, "x")
    assert not (tree / path).exists()


@pytest.mark.parametrize("rule", ["--fix", "F401,--fix", "", "F 401", "é"])
def test_a_rule_is_never_an_option(refusal: Callable[..., str], rule: str) -> None:
    assert "is not a rule code" in refusal("ruff_check", ["."], [rule])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("read_text", [3]),
        ("read_text", []),
        ("read_text", ["a", "b"]),
        ("edit_text", ["a", "1", "x", "y"]),
        ("ruff_check", ["a.py"]),
        ("ruff_check", [["a.py"], "F"]),
    ],
)
def test_arguments_of_another_shape_are_refused(
    refusal: Callable[..., str], name: str, args: list[Any]
) -> None:
    assert refusal(name, *args).startswith(f"{name}: ")
