"""Tests that were added apart to one file: both belong there, though their lines meet."""

from collections.abc import Sequence

import msgspec

from remora.code.pytest_model.pytest_file import is_test_file
from remora.code.testing.adding import joined
from remora.errors import HostError
from remora.runs.project import Project
from remora.tools.host.ruff.file_findings import imports_sorted, lint_text
from remora.tools.host.ruff.new_findings import new_findings
from remora.tools.host.style_config import width_of
from remora.tools.tree import Place
from remora.workspaces.apply.transaction import FilePatch, Prepared, prepare
from remora.workspaces.rooted_files import FILE_LIMIT, Beneath


def beside_others(project: Project, patches: Sequence[FilePatch]) -> Prepared:
    """The change set merged with the user's files, tests that were added apart side by side."""
    joint = [_side_by_side(project, patch) for patch in patches]
    moved = {one.path for one, patch in zip(joint, patches, strict=True) if one != patch}
    prepared = prepare(project.root, joint)
    writes = [
        msgspec.structs.replace(write, merged=write.merged or write.path in moved)
        for write in prepared.writes
    ]
    return msgspec.structs.replace(prepared, writes=tuple(writes))


def _side_by_side(project: Project, patch: FilePatch) -> FilePatch:
    """A patch that only adds tests to a file that others were added to meanwhile, as one of the file
    as it is now; any other one as it was."""
    try:
        ours = Beneath(project.root).read_bytes(patch.path, limit=FILE_LIMIT)
    except HostError:
        return patch
    if not is_test_file(patch.path):
        return patch
    width = width_of(Place(project.root), patch.path)
    made = joined(patch.path, patch.base, patch.theirs, ours, width)
    if made is None:
        return patch
    extra = new_findings(
        lint_text(project.root, patch.path, ours), lint_text(project.root, patch.path, made)
    )
    if any(str(each["code"]).startswith("I0") for each in extra):
        made = imports_sorted(project.root, patch.path, made)
    return msgspec.structs.replace(patch, base=ours, theirs=made)
