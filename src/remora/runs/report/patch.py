"""All changes of a run as one patch, which `git apply` takes."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from remora.errors import HostError
from remora.ids import unescape_path
from remora.runs.report.report_model import Edit, FileChange, Report
from remora.statuses import UNDECIDED
from remora.trace.redact.redactor import Redactor
from remora.workspaces.apply.line_diff import split_lines
from remora.workspaces.copy.changes import diff
from remora.workspaces.rooted_files import RootedFiles


def combined_patch(report: Report, tree: Path, redact: Redactor) -> tuple[str, str]:
    """Return a patch with the undecided changes of a run, one diff for each file.

    `tree` contains the files of the start of the run. A change set is left out if it changes lines
    that an earlier one changes, deletes a file, or changes a binary file or one in whose diff
    `redact` finds a secret. A text about what was left out, if any, is returned, too.
    """
    files = RootedFiles(tree)
    secret: set[str] = set()
    while True:
        lost: set[str] = set()
        edits = _edits(report, secret, lost)
        diffs = {path: _diff(files, path, edited) for path, edited in sorted(edits.items())}
        found = {path for path, text in diffs.items() if redact.text(text) != text}
        if not found:
            why = "which have a secret or cannot be in a patch"
            names = f"the patch leaves out changes of {', '.join(sorted(lost))}, {why}"
            return "".join(diffs.values()), names if lost else ""
        secret |= found  # the lines around a change have a secret


def _edits(report: Report, left_out: Collection[str], lost: set[str]) -> dict[str, list[Edit]]:
    """Return the edits of each file. Add the files of change sets that have none to `lost`."""
    edits: dict[str, list[Edit]] = {}
    for job in (job for job in report.jobs if job.review in UNDECIDED):
        if not _fits(job.files, edits, left_out):
            lost.update(file.path for file in job.files)
        else:
            for file in job.files:
                known = edits.setdefault(file.path, [])
                known += [edit for edit in file.edits or () if edit not in known]
    return edits


def _fits(
    files: Iterable[FileChange], edits: dict[str, list[Edit]], left_out: Collection[str]
) -> bool:
    return all(
        file.edits is not None
        and file.kind != "deleted"
        and file.path not in left_out
        and not any(
            _overlap(edit, other) for edit in file.edits for other in edits.get(file.path, ())
        )
        for file in files
    )


def _overlap(edit: Edit, other: Edit) -> bool:
    """Return True if two different edits touch."""
    return edit != other and edit.start <= other.end and other.start <= edit.end


def _diff(files: RootedFiles, path: str, edits: Sequence[Edit]) -> str:
    before = None
    with suppress(HostError):  # a new file
        before = files.read_bytes(unescape_path(path))
    lines = split_lines(before or b"")
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        lines[edit.start - 1 : edit.end - 1] = [edit.text.encode()]
    return diff(unescape_path(path), before, b"".join(lines))
