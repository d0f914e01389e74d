"""Tests that were added apart to one file: both belong there, though their lines meet."""

import msgspec

from remora.code.suite import is_test_file
from remora.code.testing import joined
from remora.errors import HostError
from remora.runs.project import Project
from remora.tools import lint_text, new_findings
from remora.tools.host.place import Place
from remora.tools.host.style_config import width_of
from remora.tools.lint import imports_sorted
from remora.workspaces import FilePatch
from remora.workspaces.beneath import FILE_LIMIT, Beneath


def side_by_side(project: Project, patch: FilePatch) -> FilePatch:
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
