"""Writes the result of a check in every format, for the steps of a CI job."""

from pathlib import Path
from typing import Any

import msgspec

from remora.errors import DiskError
from remora.runs.report.check_document import check_document
from remora.runs.report.check_markdown import check_markdown
from remora.runs.report.report_formats import as_json
from remora.runs.report.sarif import sarif
from remora.usecases.check.check_files import CheckResult


def document_of(result: CheckResult) -> dict[str, Any]:
    """Return the document of `check --json`."""
    found = check_document(result.root, result.report, result.problems, result.nodes)
    document: dict[str, Any] = msgspec.to_builtins(found)
    return document


def write_check_reports(folder: Path, result: CheckResult, share_file: str | None) -> None:
    """Write remora.json, remora.sarif, remora.md, remora.patch and remora.html to a folder.

    The last one is the share file of the run, and is not written without one. Raises DiskError if
    a file cannot be written.
    """
    report, problems = result.report, result.problems
    texts = {
        "remora.json": as_json(document_of(result)),
        "remora.sarif": as_json(sarif(report, problems)),
        "remora.md": check_markdown(report, problems, result.nodes),
        "remora.patch": result.patch,
    }
    if share_file is not None:
        texts["remora.html"] = share_file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise DiskError(f"{error.filename or folder}: {error.strerror}") from error
