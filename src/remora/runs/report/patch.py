"""All changes of a run as one patch, which `git apply` takes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
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


def combined_patch(report: Report, tree: Path, redact: Redactor) -> tuple[str, Mapping[str, str]]:
    """Return a patch with the undecided changes of a run, one diff for each file.

    `tree` contains the files of the start of the run. A change set is left out if it changes lines
    that an earlier one changes, deletes a file, or changes a binary file or one in whose diff
    `redact` finds a secret. The files of those that were left out are returned, too, and why.
    """
    files = RootedFiles(tree)
    secret: set[str] = set()
    while True:
        edits, left_out = _edits(report, secret)
        diffs = {path: _diff(files, path, found) for path, found in sorted(edits.items())}
        found = {path for path, text in diffs.items() if redact.text(text) != text}
        if not found:
            return "".join(diffs.values()), left_out
        secret |= found  # the lines around a change have a secret


def _edits(report: Report, secret: Collection[str]) -> tuple[dict[str, list[Edit]], dict[str, str]]:
    """Return the edits of each file, and why change sets have none, by file."""
    edits: dict[str, list[Edit]] = {}
    left_out: dict[str, str] = {}
    for job in (job for job in report.jobs if job.review in UNDECIDED):
        if why := _obstacle(job.files, edits, secret):
            left_out |= dict.fromkeys((file.path for file in job.files), why)
            continue
        for file in job.files:
            known = edits.setdefault(file.path, [])
            known += [edit for edit in file.edits or () if edit not in known]
    return edits, left_out


def _obstacle(
    files: Iterable[FileChange], edits: dict[str, list[Edit]], secret: Collection[str]
) -> str:
    """Return why a change set cannot be in the patch, or an empty string."""
    for file in files:
        if file.edits is None or file.path in secret:
            return "its diff has a secret, or is binary"
        if file.kind == "deleted":
            return "it is deleted"
        known = edits.get(file.path, ())
        if any(_overlap(edit, other) for edit in file.edits for other in known):
            return "two changes of it have the same lines"
    return ""


def _overlap(one: Edit, other: Edit) -> bool:
    """Return True if two different edits touch."""
    return one != other and one.start <= other.end and other.start <= one.end


def _diff(files: RootedFiles, path: str, edits: Sequence[Edit]) -> str:
    before = None
    with suppress(HostError):  # a new file
        before = files.read_bytes(unescape_path(path))
    lines = split_lines(before or b"")
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        lines[edit.start - 1 : edit.end - 1] = [edit.text.encode()]
    return diff(unescape_path(path), before, b"".join(lines))
