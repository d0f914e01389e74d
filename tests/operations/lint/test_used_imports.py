"""Imports that a linter calls unused, but that something else needs."""

from pathlib import Path

import pytest

from remora.operations.lint.host_findings import file_findings
from remora.tools.tree import ToolTree
from tests.operations.lint.test_ruff_fixes import edited

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
    "modules in tests": {
        "tests/test_a.py": "import unittest\nimport pytest\nfrom re import match\n"
    },
    "names in tests": {"tests/test_a.py": "from shop import Cart\n"},
    "the standard library in a runner": {
        "__main__.py": "from re import match\nimport os\n",
        "pytest.ini": PYTEST.format("__main__.py"),
    },
    "a module that only defines": {
        "main.py": "import handlers\n",
        "handlers.py": "from functools import cache\n\n\n@cache\ndef start():\n    pass\n",
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
