"""The available report formats."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from remora.runs.report.markdown import markdown
from remora.runs.report.report_model import Report
from remora.runs.report.sarif import sarif


def as_json(document: dict[str, Any]) -> str:
    """Return a document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document)).decode()


def _report_json(report: Report) -> str:
    sums = [total.document() for total in report.sums]
    return as_json({**msgspec.to_builtins(report), "sums": sums})


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "md": markdown,
    "sarif": lambda report: as_json(sarif(report)),
    "json": _report_json,
}
"""Pure functions that render a report, by the value of `--format`."""
