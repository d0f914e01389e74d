"""The available report formats."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from remora.runs.report.markdown import markdown
from remora.runs.report.report_model import Report
from remora.runs.report.sarif import sarif
from remora.text import HIDDEN


def as_json(document: dict[str, Any]) -> str:
    """Return a document as indented JSON, with escapes for characters that hide or reorder text."""
    text = msgspec.json.format(msgspec.json.encode(document)).decode()
    return HIDDEN.sub(lambda match: _json_escape(match[0]), text)


def _json_escape(character: str) -> str:
    r"""Return a character as one or two `\uXXXX`."""
    code = character.encode("utf-16-be").hex()
    return "".join(f"\\u{code[start : start + 4]}" for start in range(0, len(code), 4))


def _report_json(report: Report) -> str:
    sums = [total.document() for total in report.sums]
    return as_json({**msgspec.to_builtins(report), "sums": sums})


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "md": markdown,
    "sarif": lambda report: as_json(sarif(report)),
    "json": _report_json,
}
"""Pure functions that render a report, by the value of `--format`."""
