"""Planning of lint: one ruff run for all files, and what it does about a file that stops ruff."""

from collections.abc import Callable
from pathlib import Path

import pytest

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.operations.base import NO_FIX, FindingCounts
from remora.operations.lint.lint_need import all_findings, fixable_findings
from remora.tools.host.ruff import ruff
from remora.tools.tree import ToolTree
from tests.cli.conftest import write

UNUSED = "import os\n"
HANGS = "x = " * 225_000 + "1\n"
"""Ruff needs minutes for it; Python's parser takes less than a second."""
TALKS = "x = [" + "a," * 200_000 + "]\n"
"""An undefined name so often that ruff's output is larger than we read."""


@pytest.mark.slow
@pytest.mark.parametrize("prepare", [all_findings, fixable_findings])
def test_a_file_that_ruff_cannot_check_is_left_out_with_the_reason(
    tmp_path: Path, prepare: Callable[..., FindingCounts], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ruff, "SECONDS", 5.0)
    files = {"a.py": UNUSED, "hangs.py": HANGS, "talks.py": TALKS, "z.py": UNUSED}
    modules = [
        module
        for path, text in files.items()
        if isinstance(module := parse_module(path, text.encode()), Module)
    ]
    counts = prepare(ToolTree(write(tmp_path, files)), modules, {})
    found = {module.path: counts(module, module.nodes[0]) for module in modules}
    assert found == {"a.py": 1, "hangs.py": 0, "talks.py": 0, "z.py": 1}
    assert set(counts.unchecked) == {"hangs.py", "talks.py"}
    assert "did not finish" in counts.unchecked["hangs.py"]


FOR_AN_AUTHOR = {
    "D205": 'def f():\n    """Return one.\n    It never changes.\n    """\n',
    "D401": 'def f():\n    """Returns one."""\n',
    "E501": f"# {'word ' * 20}\nx = 1\n",
    "RUF003": "# It\N{RIGHT SINGLE QUOTATION MARK}s 1.\nx = 1\n",
    "RUF012": "class A:\n    names = []\n",
}


@pytest.mark.parametrize("rule", FOR_AN_AUTHOR)
def test_a_model_gets_what_rules_have_no_right_answer_for(tmp_path: Path, rule: str) -> None:
    files = {"a.py": FOR_AN_AUTHOR[rule], "ruff.toml": f'lint.select = ["{rule}"]\n'}
    module = parse_module("a.py", files["a.py"].encode())
    assert isinstance(module, Module)
    place = ToolTree(write(tmp_path, files))
    found = []
    for is_open in (False, True):
        counts = fixable_findings(place, [module], {"open": is_open})
        found.append(sum(int(counts(module, node)) for node in module.nodes))
    assert found == [0, 1]


def test_of_two_findings_at_one_place_each_is_fixed_or_left(tmp_path: Path) -> None:
    text = "from typing import Callable, List\n\n\ndef f(go: Callable, of: List) -> None:\n    go(of)\n"
    settings = 'target-version = "py311"\nlint.select = ["UP035"]\n'
    module = parse_module("a.py", text.encode())
    assert isinstance(module, Module)
    place = ToolTree(write(tmp_path, {"a.py": text, "ruff.toml": settings}))
    counts = fixable_findings(place, [module], {})
    assert counts(module, module.nodes[0]) == 1
    assert counts.left(module, module.nodes[0]) == {
        NO_FIX: ["a.py:1 UP035: `typing.List` is deprecated, use `list` instead"]
    }
