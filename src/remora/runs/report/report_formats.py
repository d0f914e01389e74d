"""Report formats by name."""

from collections.abc import Callable, Mapping

import msgspec

from remora.runs.report.html_page import html_page
from remora.runs.report.markdown import markdown
from remora.runs.report.report_model import Report
from remora.runs.report.sarif import sarif


def _as_json(report: Report) -> str:
    document = msgspec.to_builtins(report)
    document["sums"] = [each.document() for each in report.sums]
    return msgspec.json.format(msgspec.json.encode(document)).decode()


def _as_sarif(report: Report) -> str:
    return msgspec.json.format(msgspec.json.encode(sarif(report))).decode()


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "md": markdown,
    "html": html_page,
    "sarif": _as_sarif,
    "json": _as_json,
}
"""Formats by the values of `--format`; pure functions."""
