"""Lint rules that a project does not follow in its tests."""

import re

from remora.code.pytest_model.pytest_file import is_test_file
from remora.tools.host.ruff.finding import Finding
from remora.tools.tree import ToolTree

_MOST_FILES = 6
_ALWAYS = re.compile(r"F\d|E9|I0")
"""Errors and the order of imports, which count in each project."""


def tolerated_rules(place: ToolTree, path: str, found: list[Finding]) -> tuple[str, ...]:
    """Return prefixes of rule codes whose findings a new test in the file may have.

    These are the rules of the findings in the file, which are `found`, and in other test files, or
    in the first files of a project without tests.
    Raises HostError if ruff fails.
    """
    codes = {str(each["code"]) for each in found}
    files = place.files.glob("**/*.py", look=place.left)
    others = [each for each in files if each != path]
    others = [each for each in others if is_test_file(each)] or others
    if others:
        codes |= {str(each["code"]) for each in place.ruff.check(others[:_MOST_FILES])}
    return tuple(code for code in sorted(codes) if not _ALWAYS.match(code))
