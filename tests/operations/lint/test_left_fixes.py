"""Fixes that ruff has, and that are left out: which, and why."""

from functools import partial
from pathlib import Path

import pytest

from remora.judges.lint.left_alone import kept_findings
from remora.operations.lint.host_findings import file_findings
from remora.operations.lint.host_fix import fix_findings
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.tree import ToolTree
from tests.operations.lint.fixed_files import versions
from tests.operations.lint.test_ruff_fixes import edited

COMMENT = "the fix removes a comment"
KEPT = "a comment keeps it"
LAYOUT = "the indentation within the docstring would change"
LINTER = "another linter may need the comment"
ORDER = "values would be computed in another order"
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
    "words after a comment for linters": (
        KEPT, "F", """
          import tasks  # NOQA: registers the tasks
          from jobs import (
              send,
          )  #noqa: needed
          import api  # type:ignore
        - import os  # noqa: E402
        """),
    "a comment for all of a file": (
        KEPT, "F", """
          # FLAKE8: NOQA: F401
          import os
        - print(f"a")
        + print("a")
        """),
    "an item that a default dictionary gets": (
        ORDER, "UP032", """
          print(f"{1}", f"{2}", f"{3}")


          def f(d):
              return "{[x]} {}".format(d, len(d))
        """),
    "values that calls change": (
        ORDER, "UP032", """
        - print("{} {}".format(items, len(items)), f"{2}", f"{3}")
        + print(f"{items} {len(items)}", f"{2}", f"{3}")
        - print("{a} {b}".format(a=sum([1]), b=2), f"{4}", f"{5}")
        + print(f"{sum([1])} {2}", f"{4}", f"{5}")
          print("{} {}".format(items, items.pop()), f"{6}", f"{7}")
          print("{1} {0}".format(first(), second()), "{".format(1), f"{8}", f"{9}")
          print("{} {}".format(counts, counts["a"]), f"{8}", f"{9}")
        """),
    "relative indentation in the docstring of a module": (
        LAYOUT, "D208", '''
          """
              Say so.

              .. note:: It
                        is so.
          """
        '''),
    "a part of a docstring that is not indented enough": (
        LAYOUT, "D207", '''
          def f():
              """Say so.

            Usage:
                f()
              """


          def g():
              """Say so.

        -   All of it.
        +     All of it.
              """
        '''),
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
    "a type that a union has twice": (
        "another value may be meant", "PYI", """
          from datetime import date, time


          def f(day: time | date | date):
              return str(day)
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
    "what has no other order does not count": (
        STYLE, "SIM", """
          def f(a):
              assert 1 == a and 2 < a
              assert a is None or a in "xyz" or a is not True
        """),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_fix_is_left_out_for_a_reason(tmp_path: Path, name: str) -> None:
    reason, selected, example = EXAMPLES[name]
    before, after = versions(example)
    assert edited(tmp_path, {"a.py": before}, selected) == after
    (tmp_path / "a.py").write_text(before)
    place = ToolTree(tmp_path, ruff=partial(Ruff, selected=[selected]))
    found = place.ruff.check_file("a.py")
    assert reason in kept_findings(place, "a.py", before.encode(), found).values()


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


NEEDED_NOQA = [
    ("pyproject.toml", 'optional-dependencies.test = ["pycodestyle"]', "# noqa: E501", False),
    ("pyproject.toml", 'optional-dependencies.test = ["pycodestyle"]', "# noqa", False),
    ("pyproject.toml", 'optional-dependencies.test = ["pycodestyle"]', "# noqa: F401", True),
    ("requirements-dev.txt", "wemake-python-styleguide", "# noqa: F401", False),
    ("setup.cfg", "[flake8]\nmax-line-length = 99", "#NOQA:E203", False),
    ("setup.py", "setup(tests_require=['pytest-pydocstyle'])", "# noqa: D103", False),
    ("ruff.toml", "lint.pydocstyle.convention = 'google'  # pycodestyle", "# noqa: D103", True),
    ("README.md", "", "# noqa: E711, WPS432 words", False),
    ("README.md", "", "# noqa: E711", True),
]


@pytest.mark.parametrize(("path", "text", "comment", "is_removed"), NEEDED_NOQA)
def test_a_comment_stays_that_another_linter_needs(
    tmp_path: Path, path: str, text: str, comment: str, *, is_removed: bool
) -> None:
    files = {"a.py": f"a = 1  {comment}\n", path: f"{text}\n"}
    assert (edited(tmp_path, files, "default") == "a = 1\n") is is_removed


PATHS = """
import os

# local imports
from shop import cart


def f(name):
    return os.path.isdir(name), cart
"""


@pytest.mark.parametrize(
    ("setting", "unsafe", "is_fixed"),
    [("", False, False), ("", True, True), ("lint.extend-safe-fixes = ['PTH']", False, True)],
)
def test_conversions_to_paths_are_unsafe_unless_the_project_says_otherwise(
    tmp_path: Path, setting: str, *, unsafe: bool, is_fixed: bool
) -> None:
    """`Path("").is_dir()` is true, unlike `os.path.isdir("")`. An added import goes to its place."""
    (tmp_path / "ruff.toml").write_text(f"preview = true\n{setting}\n")
    (tmp_path / "a.py").write_text(PATHS)
    fix_findings(ToolTree(tmp_path, ruff=partial(Ruff, selected=["PTH"])), "a.py", [], unsafe)
    expected = PATHS.replace("import os\n", "import pathlib\n")
    expected = expected.replace("os.path.isdir(name)", "pathlib.Path(name).is_dir()")
    assert (tmp_path / "a.py").read_text() == (expected if is_fixed else PATHS)


@pytest.mark.parametrize(("first", "is_fixed"), [("print()", True), ("'Said.'", False)])
def test_only_a_pass_after_a_docstring_stays(tmp_path: Path, first: str, is_fixed: bool) -> None:
    text = f"def f():\n    {first}\n    pass\n"
    assert (edited(tmp_path, {"a.py": text}) != text) is is_fixed


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


SOURCE = """\
from __future__ import annotations

import sys
from typing import Type


def make(
    kind: Type[int],
) -> "list[int]":
    return [kind("%s" % sys.argv)]


def name(kind: str) -> str:
    return "%s is %r" % (kind, sys.argv)


def error(kind: str) -> str:
    return "%s is not %r" % (kind, sys.argv)
"""
FIXED = (
    SOURCE.replace('"list[int]"', "list[int]")
    .replace('"%s" % sys.argv', 'f"{sys.argv}"')
    .replace('"%s is %r" % (kind, sys.argv)', 'f"{kind} is {sys.argv!r}"')
    .replace('"%s is not %r" % (kind, sys.argv)', 'f"{kind} is not {sys.argv!r}"')
)
PACKAGE = "pkg/__init__.py"
"""Ruff does not remove unused imports of a package."""


def unsafely_fixed(folder: Path, source: str) -> str:
    files = {PACKAGE: source, "pyproject.toml": '[project]\nrequires-python = ">=3.9"\n'}
    return edited(folder, files, "F", "UP", "UP006", "UP031", "UP032")


@pytest.mark.parametrize("count", [1, 30])
def test_only_the_fix_that_leaves_a_lasting_finding_is_left_out(tmp_path: Path, count: int) -> None:
    """`type[int]` would leave the import of `Type` unused."""
    more = "".join(f'\n\ndef f{n}(x: int) -> str:\n    return "%r" % x\n' for n in range(count))
    expected = FIXED + more.replace('"%r" % x', 'f"{x!r}"')
    assert unsafely_fixed(tmp_path, SOURCE + more) == expected


TEST_CLASS = "import unittest\n\n\nclass CartTests(unittest.TestCase):\n    pass\n"
FIXTURES = """\
import pytest


@pytest.fixture(
    scope="module",
)
def db():
    return 1
"""
PYTEST = "[pytest]\npython_files = {}\n"


NEEDED = {
    "a pattern of pytest": {
        "checks/__main__.py": "from .cart import Cart, CartTests\n",
        "pytest.ini": PYTEST.format("__main__.py"),
    },
    "a folder in a pattern of pytest": {
        "checks/all.py": "from .cart import Cart\n",
        "pytest.ini": PYTEST.format("checks/*.py"),
    },
    "a runner": {
        "run.py": (
            "import unittest\n\nfrom cart import CartTests\nfrom shop import TestShop\n\n"
            "unittest.main()\n"
        ),
        "cart.py": TEST_CLASS,
    },
    "a test of another module": {"tests/test_a.py": "from .shared import TestCart, test_one\n"},
    "a fixture": {
        "tests/test_a.py": "from .fixtures import db\n\n\ndef test_one(db):\n    assert db\n",
        "tests/fixtures.py": FIXTURES,
    },
    "fixtures and hooks of pytest": {
        "tests/conftest.py": "from plugin import pytest_configure, session\n"
    },
    "an alias that another file takes": {
        "a.py": "from json import dumps as to_json\n",
        "b.py": "from a import to_json\n\nto_json(1)\n",
    },
    "a quoted alias of a type": {
        "a.py": (
            "from re import Pattern\nfrom typing import TypeAlias\n\n"
            "P: 'TypeAlias' = 'list[Pattern]'\n"
        )
    },
    "a module that registers": {
        "app/__init__.py": "from .flask import app\nfrom . import routes\n\nprint(app)\n",
        "app/routes.py": "from . import app\n\n\n@app.route('/')\ndef index():\n    return 1\n",
    },
    "a package that registers": {
        "app/main.py": "import handlers\nfrom . import routes\n",
        "app/routes/__init__.py": "from shop import app\n\n\n@app.route\ndef index():\n    return 1\n",
        "handlers.py": "from shop import on\n\n\n@on('start')\ndef start():\n    pass\n",
    },
}


@pytest.mark.parametrize("files", NEEDED.values(), ids=NEEDED)
def test_needed_imports_stay(tmp_path: Path, files: dict[str, str]) -> None:
    (source, *_) = files.values()
    assert edited(tmp_path, files, "F401") == source


UNUSED = {
    "the standard library in tests": {"tests/test_a.py": "import unittest\nfrom re import match\n"},
    "the standard library in a runner": {
        "__main__.py": "from re import match\nimport os\n",
        "pytest.ini": PYTEST.format("__main__.py"),
    },
}


@pytest.mark.parametrize("files", UNUSED.values(), ids=UNUSED)
def test_others_are_removed(tmp_path: Path, files: dict[str, str]) -> None:
    assert edited(tmp_path, files, "F401") == ""


def test_an_import_that_a_fix_leaves_unused_stays_if_another_file_takes_it(tmp_path: Path) -> None:
    source = "from typing import List, Set\n\nx: List[int] = []\ny: Set[int] = set()\n"
    files = {"a.py": source, "b.py": "from a import List\n\nz: List[int] = []\n"}
    assert edited(tmp_path, files, "F", "UP006") == (
        "from typing import List\n\nx: List[int] = []\ny: set[int] = set()\n"
    )


def test_the_reason_is_shown(tmp_path: Path) -> None:
    edited(tmp_path, {"tests/conftest.py": "from plugin import session\n"}, "F401")
    (finding,) = file_findings(ToolTree(tmp_path), "tests/conftest.py", [])["findings"]
    assert finding["kept"] == "a test runner uses the name"
