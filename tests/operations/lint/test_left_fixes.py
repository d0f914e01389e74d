"""Fixes that ruff has, and that are left out: which, and the reason that users see."""

from functools import partial
from pathlib import Path

import pytest

from remora.operations.lint.fixable_findings import FixableFindings
from remora.operations.lint.left_alone import kept_findings
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.tree import ToolTree
from tests.operations.lint.test_recipes import versions
from tests.operations.lint.test_ruff_fixes import edited

COMMENT = "the fix removes a comment"
PARTLY = "the function would be converted in part"
EXAMPLES = {
    "a comment of a branch goes with its line": (COMMENT, "RET", """
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
    "a text that ruff cannot convert": (PARTLY, "UP", """
          def f(a, b):
              return "{}".format(a), "{}".format(*b)


          def g(a, b):
        -     return "{} {}".format(a, b)
        +     return f"{a} {b}"
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
