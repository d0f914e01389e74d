"""Annotations that add findings of the project's ruff are left out."""

from pathlib import Path

import pytest

from remora.operations.types.checker.judge import Terms
from remora.operations.types.source.slots import SourceText
from remora.operations.types.writing.clean_file import without_findings
from remora.tools.tree import ToolTree

BEFORE = "def f(a, b):\n    return a\n\n\ndef g():\n    return 1\n"


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        (["UP"], "def f(a, b):"),
        (["F"], "def f(a: Optional[str], b):"),
        (["I"], "def f(a: Optional[str], b):"),
    ],
)
def test_annotation_with_a_finding_is_left_out(tmp_path: Path, rules: list[str], left: str) -> None:
    (tmp_path / "ruff.toml").write_text(f"target-version = 'py310'\n[lint]\nselect = {rules}\n")
    (tmp_path / "m.py").write_text(BEFORE)
    slots = {each.function + each.name: ("m.py", each) for each in SourceText(BEFORE).slots}

    def write(terms: Terms) -> str:
        text = BEFORE
        if slots["fa"] in terms:
            text = f"import os\nfrom typing import Optional\n\n{text}\n\nprint(os)\n"
            text = text.replace("f(a,", "f(a: Optional[str],")
        return text.replace("g():", "g() -> int:") if slots["greturn"] in terms else text

    chosen = {slots["fa"]: "str | None", slots["greturn"]: "int"}
    after = without_findings(ToolTree(tmp_path), "m.py", BEFORE, write, chosen)
    assert left in after
    assert "def g() -> int:" in after
