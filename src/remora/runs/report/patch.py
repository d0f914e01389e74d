"""All changes of a run as one patch, which `git apply` takes."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from remora.errors import HostError
from remora.ids import unescape_path
from remora.runs.records.current_attempt import UNDECIDED
from remora.runs.report.report_model import Edit, FileChange, Report
from remora.workspaces.apply.line_diff import split_lines
from remora.workspaces.copy.changes import diff
from remora.workspaces.rooted_files import FILE_LIMIT, RootedFiles


def combined_patch(report: Report, tree: Path) -> str:
    """Return a patch with the undecided changes of a run, one diff for each file.

    `tree` contains the files of the start of the run. A change set whose lines another one changes,
    too, is left out, as are changes of binary files.
    """
    edits: dict[str, list[Edit]] = {}
    for job in report.jobs:
        if job.review in UNDECIDED and _fits(job.files, edits):
            for file in job.files:
                known = edits.setdefault(file.path, [])
                known += [edit for edit in file.edits or () if edit not in known]
    files = RootedFiles(tree)
    return "".join(_diff(files, path, found) for path, found in sorted(edits.items()))


def _fits(files: Iterable[FileChange], edits: dict[str, list[Edit]]) -> bool:
    return all(
        file.edits is not None
        and file.kind != "deleted"
        and not any(
            _overlap(edit, other) for edit in file.edits for other in edits.get(file.path, ())
        )
        for file in files
    )


def _overlap(one: Edit, other: Edit) -> bool:
    """Return True if two different edits touch."""
    return one != other and one.start <= other.end and other.start <= one.end


def _diff(files: RootedFiles, path: str, edits: Sequence[Edit]) -> str:
    before = None
    with suppress(HostError):  # a new file
        before = files.read_bytes(unescape_path(path), limit=FILE_LIMIT)
    lines = split_lines(before or b"")
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        lines[edit.start - 1 : edit.end - 1] = [edit.text.encode()]
    return diff(unescape_path(path), before, b"".join(lines))
