"""A fix that adds a finding elsewhere is found, so that the other fixes of the file stay."""

from pathlib import Path

import pytest

from tests.operations.lint.test_ruff_fixes import edited

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
