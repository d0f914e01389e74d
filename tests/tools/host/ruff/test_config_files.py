"""The oldest Python of a project, on which the fixes of ruff depend."""

from pathlib import Path

import pytest

from remora.tools.host.ruff.config_files import oldest_minor
from remora.tools.tree import ToolTree

CI = "name: x\njobs:\n  tests:\n    strategy:\n      matrix:\n        {}\n"
NEEDS_3_11 = """import datetime


def now():
    return datetime.datetime.now(datetime.timezone.utc)
"""


def _write(tree: Path, files: dict[str, str]) -> ToolTree:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    return ToolTree(tree)


@pytest.mark.parametrize(
    ("files", "minor"),
    [
        ({}, None),
        ({"setup.py": "setup(python_requires='>=3.8')", "tox.ini": "[tox]\nenvlist=py36"}, 8),
        ({"setup.py": "more['python_requires'] = '>=3.6'\n"}, 6),
        ({"tox.ini": "[tox]\nenvlist = py{39,310,311}-django{32,42}, pypy3, lint\n"}, 9),
        ({"tox.ini": "[tox]\nenv_list =\n    3.11\n    3.12\n"}, 11),
        ({"tox.ini": "[tox]\nenvlist = py3{9-13}\n"}, 9),
        ({".github/workflows/a.yml": CI.format('python-version: ["3.11", "3.12"]')}, 11),
        ({".github/workflows/a.yml": CI.format("python:\n        - '3.9'\n        - '3.13'")}, 9),
        ({".github/workflows/a.yml": "steps:\n- with:\n    python-version: '3.13'\n"}, None),
    ],
)
def test_the_oldest_version_that_is_declared_or_tested(
    tmp_path: Path, files: dict[str, str], minor: int | None
) -> None:
    assert oldest_minor(_write(tmp_path, files)) == minor


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        ({}, []),
        ({"setup.py": "setup(python_requires='>=3.11')"}, ["UP017"]),
        ({"tox.ini": "[tox]\nenvlist = py312\n"}, ["UP017"]),
        ({"tox.ini": "[testenv:lint]\ncommands = ruff check\n"}, ["UP017"]),
        ({"ruff.toml": "lint.select = ['UP']\n"}, ["UP017"]),
    ],
)
def test_code_for_a_newer_python_needs_a_declared_version_or_the_use_of_ruff(
    tmp_path: Path, files: dict[str, str], codes: list[str]
) -> None:
    _write(tmp_path, {**files, "a.py": NEEDS_3_11})
    assert [each["code"] for each in ToolTree(tmp_path).ruff.check(["a.py"], unsafe=True)] == codes
