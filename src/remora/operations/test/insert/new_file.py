"""Header of a new test file, like its neighbours', and the parts that the project's lint rules require."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from remora.code.edit.text_lines import split_lines
from remora.code.pytest_model.pytest_file import is_test_file
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.tools.host.ruff.finding import Finding
from remora.tools.tree import ToolTree

_MOST_FILES = 6
_ALWAYS = re.compile(r"F\d|E9|I0")
"""Errors and the order of imports, which count in each project."""

NO_PACKAGE = "INP001"
"""Rule that requires an `__init__.py` in the folder."""
_BARE = b"def test_it():\n    assert 'Word'.lower() == 'word'\n"
_PACKAGE = b'"""Tests."""\n'
_MIN_DOCSTRINGS = 3
_MIN_SHARE = 0.8


class RequiredStyle(NamedTuple):
    """Requirements of lint rules for the first tests of a project."""

    annotations: bool = False
    docstrings: bool = False
    module_docstring: bool = False


def required_style(place: ToolTree, path: str) -> RequiredStyle:
    """Return what the project's lint rules require of a test file at a path where none exists."""
    try:
        codes = {str(finding["code"]) for finding in place.ruff.check_text(path, _BARE)}
    except HostError:  # the check of the test reports it
        return RequiredStyle()
    return RequiredStyle("ANN201" in codes, "D103" in codes, "D100" in codes)


def make_package(place: ToolTree, path: str) -> str:
    """Add an `__init__.py` to a folder whose only Python file is the new test file at `path`.

    Return its path, or an empty string if the folder has other files.
    """
    folder = path.rpartition("/")[0]
    if not folder or any(other != path for other in place.files.glob(f"{folder}/*.py")):
        return ""
    package = package_of(path)
    required = {str(finding["code"]) for finding in place.ruff.check_text(package, b"")}
    place.create(package, _PACKAGE if "D104" in required else b"")
    return package


def package_of(path: str) -> str:
    """Return the path of the `__init__.py` that makes a test file's folder a package."""
    folder, slash, _ = path.rpartition("/")
    return f"{folder}{slash}__init__.py"


def is_new_package(path: str, before: bytes | None, after: bytes | None) -> bool:
    """Return True if a change creates an `__init__.py` without code."""
    return path.endswith("/__init__.py") and before is None and after in (b"", _PACKAGE)


def file_header(path: str, module: str, tests: Mapping[str, str], *, docstring: bool) -> str:
    """Return the lines before the imports of a new test file.

    These are the comment, the docstring and the `__future__` imports that most of the other test
    files have. `docstring` is true if the file must have a docstring.
    """
    folder = path.rpartition("/")[0]
    near = [text for other, text in tests.items() if other.rpartition("/")[0] == folder]
    texts = near if len(near) > 1 else [*tests.values()]
    trees = [tree for tree in map(parse_text, texts) if isinstance(tree, ast.Module)]
    found = sum(bool(ast.get_docstring(tree)) for tree in trees)
    is_usual = len(trees) >= _MIN_DOCSTRINGS and found >= _MIN_SHARE * len(trees)
    parts = [
        _most_common(map(_leading_comment, texts), len(texts)),
        f'"""Tests for `{module}`."""\n' if docstring or is_usual else "",
        _most_common(map(_future_import, trees), len(trees)),
    ]
    return "\n".join(filter(None, parts))


def _most_common(found: Iterator[str], of: int) -> str:
    """Return the text that more than half of the files have, if there are several of them."""
    for text, count in Counter(found).most_common(1):
        if count > 1 and 2 * count > of:
            return text
    return ""


def _leading_comment(text: str) -> str:
    lines: list[str] = []
    for line in split_lines(text):
        if not line.startswith("#") or line.startswith("#!"):
            break
        lines.append(line + "\n")
    return "".join(lines)


def _future_import(tree: ast.Module) -> str:
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            return ast.unparse(statement) + "\n"
    return ""


def tolerated_rules(place: ToolTree, path: str, found: list[Finding]) -> tuple[str, ...]:
    """Return prefixes of rule codes whose findings a new test in the file may have.

    These are the rules of the findings in the file, which are `found`, and in other test files, or
    in the first files of a project without tests.
    Raises HostError if ruff fails.
    """
    codes = {str(finding["code"]) for finding in found}
    files = place.files.glob("**/*.py", look=place.left)
    others = [file for file in files if file != path]
    others = [other for other in others if is_test_file(other)] or others
    if others:
        codes |= {str(finding["code"]) for finding in place.ruff.check(others[:_MOST_FILES])}
    return tuple(code for code in sorted(codes) if not _ALWAYS.match(code))
