"""Fixes that ruff has, and that are left out: which, and the reason that users see."""

from functools import partial
from pathlib import Path

import pytest

from remora.operations.lint.fixable_findings import FixableFindings
from remora.operations.lint.left_alone import kept_findings
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.tree import ToolTree
from tests.operations.lint.fixed_files import versions
from tests.operations.lint.test_ruff_fixes import edited

COMMENT = "the fix removes a comment"
STYLE = "most of the file keeps the other way of writing"
EXAMPLES = {
    "a comment of a branch goes with its line": (COMMENT, "RET505", """
          def f(a):
              if a:
                  return 1
              else:  # pragma: no cover
                  return 2
        """),
    "a comment in a branch that is removed": (COMMENT, "UP", """
          import sys

          if sys.version_info < (3,):
              # set the output to binary mode
              sys.stdout = 1
        """),
    "a comment of a statement that is removed": (COMMENT, "F", """
          import tasks  # registers the tasks
        - import os  # noqa: E402
        """),
    "f-strings where there are more other texts": (
        STYLE, "UP", """
          a = "{}".format(1), "%s" % 2
          b = f"{1}"
        """),
    "types where there are more of typing": ("most of the project keeps the other way of writing", "UP", """
          from __future__ import annotations

          from typing import Optional


          def f(a: Optional[int], b: Optional[int]) -> int | None:
              return a or b
        """),
    "a builtin that the file hides": (
        "it hides a builtin", "UP020", """
          from io import open


          def read(path):
              return open(path).read()
        """),
    "a name that is exported twice": (
        "another value may be meant", "RUF", """
          __all__ = ["a", "a"]
          a = b = 1
        """),
    "an import that is tried": (
        "what can be imported decides", "F", """
          try:
              import yaml
          except Exception:
              pass
        """),
    "an import for other versions": (
        "what can be imported decides", "UP", """
          try:
              from collections import Sequence
          except ImportError:
              from collections.abc import Sequence
        """),
    "an import for an older version": (
        "what can be imported decides", "UP", """
          import sys

          if sys.version_info < (3, 13):
              from typing.io import TextIO
          else:
              from typing import TextIO
        """),
    "an import that finds out what is installed": (
        "what can be imported decides", "F", """
          def test_yaml():
              try:
                  import yaml
              except:
                  print("yaml is not installed")
        """),
    "a value that the text does not show": (
        "another value may be meant", "F", """
          def f(event, states):
              return "an {event} event".format(event=event, states=states)
        """),
    "comparisons where there are more in the other order": (
        STYLE, "SIM", """
          def f(a):
              assert 1 == a and 2 < a
              assert a > 0
        """),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_fix_is_left_out_for_a_reason(tmp_path: Path, name: str) -> None:
    reason, selected, example = EXAMPLES[name]
    before, after = versions(example)
    assert edited(tmp_path, {"a.py": before}, selected) == after
    (tmp_path / "a.py").write_text(before)
    place = ToolTree(tmp_path, ruff=partial(Ruff, selected=[selected]))
    fixes = FixableFindings(place, unsafe=True)
    found = place.ruff.check_file("a.py")
    assert reason in kept_findings(place, "a.py", before, found, fixes).values()


def test_an_assertion_that_would_equal_another_is_left(tmp_path: Path) -> None:
    source = "def test_a(a, b):\n    assert not a == b\n    assert a != b\n    assert not a != b\n"
    expected = source.replace("not a != b", "a == b")
    assert edited(tmp_path, {"a.py": source}, "SIM") == expected


def test_branches_with_equal_conditions_stay(tmp_path: Path) -> None:
    """One of them may have been meant for something else."""
    source = "def f(a):\n    if a == 1:\n        print(a)\n    elif a == {}:\n        print(a)\n"
    assert edited(tmp_path, {"a.py": source.format(1)}, "SIM114") == source.format(1)
    assert "or a == 2" in edited(tmp_path, {"a.py": source.format(2)}, "SIM114")


@pytest.mark.parametrize(
    ("path", "selected", "is_fixed"),
    [
        ("docs/tutorial/a.py", "F401", False),
        ("versioneer.py", "F401", False),
        ("src/a.py", "F401", True),
        ("examples/a.py", "PIE790", False),
        ("src/a.py", "PIE790", True),
        ("tests/test_a.py", "B009", False),
        ("src/a.py", "B009", True),
    ],
)  # fmt: skip
def test_a_fix_is_left_out_in_some_files(
    tmp_path: Path, path: str, selected: str, is_fixed: bool
) -> None:
    source = {"F401": "import os\n", "PIE790": "def f():\n    print()\n    pass\n"}
    text = source.get(selected, "print(getattr(print, 'sep'))\n")
    assert (edited(tmp_path, {path: text}, selected) != text) is is_fixed


def test_another_ruff_may_sort_imports_otherwise(tmp_path: Path) -> None:
    text = "import re\nimport os\n\nprint(os, re)\n"
    files = {
        "a.py": text,
        "requirements.txt": "ruff==0.3.1\n",
        "ruff.toml": "lint.select = ['I']\n",
    }
    assert edited(tmp_path, files) == text
    assert edited(tmp_path, files, "I001") != text


def test_a_fix_that_leaves_space_at_the_end_of_a_line_is_left_out(tmp_path: Path) -> None:
    text = "print(\n    (\n        'a'\n        'b'\n    )\n)\n"
    assert edited(tmp_path, {"a.py": text}, "UP034") == text
    assert edited(tmp_path, {"a.py": "print(('a'))\n"}, "UP034") == "print('a')\n"


def test_quotes_are_selected_only_by_their_code(tmp_path: Path) -> None:
    source = "a = 'text'\n"
    assert edited(tmp_path, {"a.py": source}, "ALL") == source
    assert edited(tmp_path, {"a.py": source}, "Q000") == 'a = "text"\n'
