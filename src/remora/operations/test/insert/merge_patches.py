"""Merging of change sets that add tests to the same file, and removal of the added tests."""

from pathlib import Path

import msgspec

from remora.code.pytest_model.pytest_file import is_test_file
from remora.operations.test.insert.added_tests import merge_added_tests
from remora.operations.test.insert.removed_tests import remove_added_tests
from remora.tools.host.ruff.finding import new_findings
from remora.tools.host.style_config import width_of
from remora.tools.tree import ToolTree
from remora.workspaces.apply.transaction import FilePatch


def keep_both_tests(root: Path, patch: FilePatch, ours: bytes) -> FilePatch:
    """Return a patch that adds the new tests to `ours`, the current content of the test file.

    A patch that does more than add tests is returned unchanged.
    """
    if not is_test_file(patch.path):
        return patch
    place = ToolTree(root)
    width = width_of(place, patch.path)
    made = merge_added_tests(patch.path, patch.base, patch.theirs, ours, width)
    if made is None:
        return patch
    extra = new_findings(
        place.ruff.check_text(patch.path, ours), place.ruff.check_text(patch.path, made)
    )
    if any(str(each["code"]).startswith("I0") for each in extra):
        made = place.ruff.with_sorted_imports(patch.path, made)
    return msgspec.structs.replace(patch, base=ours, theirs=made)


def remove_own_tests(_root: Path, patch: FilePatch, ours: bytes) -> FilePatch:
    """Return a patch that removes only the added tests from `ours`, the file's current content.

    `patch` is reversed, so its base contains the tests. It is returned unchanged if the original
    change did more than add tests, or if the file has not been edited since.
    """
    if ours == patch.base or not is_test_file(patch.path):
        return patch
    left = remove_added_tests(patch.path, patch.theirs, patch.base, ours)
    if left is None:
        return patch
    return msgspec.structs.replace(patch, base=ours, theirs=left or None, restores=False)
