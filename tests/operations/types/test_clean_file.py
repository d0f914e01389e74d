"""Annotations that add findings of the project's ruff are left out."""

from pathlib import Path

import pytest

from remora.judges.types.accepted_annotations import Terms
from remora.judges.types.slots import SourceText
from remora.operations.types.writing.clean_file import without_findings
from remora.tools.tree import ToolTree

BEFORE = "def f(a, b):\n    return a\n\n\ndef g():\n    return 1\n"

BANNED = """\
[lint.flake8-tidy-imports.banned-api]
"typing.Optional".msg = "use unions"
"""


def project(folder: Path, settings: str, module: str) -> ToolTree:
    """Create a project with ruff's settings and a module."""
    (folder / "ruff.toml").write_text(settings)
    (folder / "m.py").write_text(module)
    return ToolTree(folder)


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        (["UP"], "def f(a: str | None, b):"),
        (["TID251"], "def f(a, b):"),
        (["F"], "def f(a: Optional[str], b):"),
        (["I"], "def f(a: Optional[str], b):"),
    ],
)
def test_annotation_with_a_finding_is_mended_or_left_out(
    tmp_path: Path, rules: list[str], left: str
) -> None:
    settings = f"target-version = 'py310'\n[lint]\nselect = {rules}\n{BANNED}"
    slots = {each.function + each.name: ("m.py", each) for each in SourceText(BEFORE).slots}

    def write(terms: Terms) -> str:
        text = BEFORE
        if slots["fa"] in terms:
            text = f"import os\nfrom typing import Optional\n\n{text}\n\nprint(os)\n"
            text = text.replace("f(a,", "f(a: Optional[str],")
        return text.replace("g():", "g() -> int:") if slots["greturn"] in terms else text

    chosen = {slots["fa"]: "str | None", slots["greturn"]: "int"}
    place = project(tmp_path, settings, BEFORE)
    after, _ = without_findings(place, "m.py", BEFORE, write, chosen)
    assert left in after
    assert "def g() -> int:" in after


def test_imports_for_type_checkers_only_get_a_block_of_their_own(tmp_path: Path) -> None:
    before = "from __future__ import annotations\n\n\ndef f(a):\n    return a\n"
    place = project(tmp_path, "[lint]\nselect = ['F', 'I', 'PIE', 'TC']\n", before)
    (slot, _) = SourceText(before).slots

    def write(_terms: Terms) -> str:
        text = before.replace("annotations\n", "annotations\n\nfrom decimal import Decimal\n")
        return text.replace("f(a)", "f(a: Decimal)")

    after, _ = without_findings(place, "m.py", before, write, {("m.py", slot): "Decimal"})
    assert "if TYPE_CHECKING:\n    from decimal import Decimal\n" in after
    assert "def f(a: Decimal):" in after


def test_annotations_that_were_there_keep_their_notation(tmp_path: Path) -> None:
    before = "from typing import Optional\n\n\ndef f(a, b: Optional[int]):\n    return a, b\n"
    place = project(tmp_path, "target-version = 'py310'\nlint.select = ['UP']\n", before)
    (slot, _) = SourceText(before).slots

    def write(_terms: Terms) -> str:
        return before.replace("a, b: Optional[int]", "a: Optional[str], b: Optional[int]")

    after, _ = without_findings(place, "m.py", before, write, {("m.py", slot): "str | None"})
    assert "def f(a: str | None, b: Optional[int]):" in after


def test_new_annotation_that_reads_like_an_older_line_is_still_the_new_one(tmp_path: Path) -> None:
    new = "def f(\n    a=None,\n):\n    return a\n"
    old = "\n\ndef g(\n    a: Optional[int] = None,\n):\n    return a\n"
    before = f"from typing import Optional\n\n\n{new}{old}"
    (tmp_path / "ruff.toml").write_text("target-version = 'py310'\nlint.select = ['UP']\n")
    (tmp_path / "m.py").write_text(before)
    slot = SourceText(before).slots[0]

    def write(_terms: Terms) -> str:
        return before.replace("    a=None", "    a: Optional[int] = None")

    place = ToolTree(tmp_path)
    after, _ = without_findings(place, "m.py", before, write, {("m.py", slot): "int | None"})
    assert "def f(\n    a: int | None = None,\n)" in after
    assert "def g(\n    a: Optional[int] = None,\n)" in after


def test_signature_is_wrapped_only_if_its_final_notation_is_too_long(tmp_path: Path) -> None:
    before = (
        "from typing import Optional\n\n\ndef f(first, b: Optional[int]):\n    return first, b\n"
    )
    settings = "target-version = 'py310'\nline-length = 44\nlint.select = ['UP']\n"
    (tmp_path / "ruff.toml").write_text(settings)
    (tmp_path / "m.py").write_text(before)
    (slot, _) = SourceText(before).slots

    def write(_terms: Terms) -> str:
        return before.replace("first, b:", "first: Optional[str], b:")

    place = ToolTree(tmp_path)
    after, _ = without_findings(place, "m.py", before, write, {("m.py", slot): "str | None"})
    assert "def f(first: str | None, b: Optional[int]):" in after


_LONG_TEXT = f"TEXT = '{'x' * 110}'\n" * 3
_LONG_CODE = f"ROW = {', '.join(['row'] * 20)}\n" * 3
_ONE_LINE = "def label(first_part: str, second_part: str, third_part: str, last_part: str) -> str:"
_OWN_LINES = (
    "def label(\n    first_part: str,\n    second_part: str,\n    third_part: str,\n"
    "    last_part: str,\n) -> str:"
)


@pytest.mark.parametrize(
    ("lines", "settings", "signature"),
    [
        pytest.param(_LONG_TEXT, "max-line-length = 99", _OWN_LINES, id="texts only"),
        pytest.param(_LONG_CODE, "max-line-length = 99", _ONE_LINE, id="code"),
        pytest.param(_LONG_CODE, "max-line-length = 82", _OWN_LINES, id="code beyond the limit"),
        pytest.param(_LONG_CODE, "", _ONE_LINE, id="no limit"),
    ],
)
def test_signature_is_as_long_as_the_code_of_the_file_and_as_flake8_allows(
    tmp_path: Path, lines: str, settings: str, signature: str
) -> None:
    before = (
        f"{lines}\n\ndef label(first_part, second_part, third_part, last_part):\n    return ''\n"
    )
    (tmp_path / ".flake8").write_text(f"[flake8]\n{settings}\n")
    (tmp_path / "m.py").write_text(before)
    chosen = {("m.py", slot): "str" for slot in SourceText(before).slots}

    def write(_terms: Terms) -> str:
        return before.replace("_part", "_part: str").replace("):", ") -> str:")

    assert signature in without_findings(ToolTree(tmp_path), "m.py", before, write, chosen)[0]
