"""Prints the findings of `check --only-report`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from remora.bootstrap.open_project import open_project
from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import emit, terminal_width
from remora.cli.views.run_view import unreadable_lines
from remora.ids import split_node_key
from remora.runs.planning.run_request import RunRequest
from remora.text import count, escape_line
from remora.usecases.check.report_findings import FindingsReport, report_findings


def print_findings(options: Options, request: RunRequest, flags: Mapping[str, Any]) -> int:
    """Print the findings of operations. Return 1 if there are any, and 0 otherwise."""
    invocation = invocation_of(options, flags)
    project = open_project(invocation, request.paths)
    report = report_findings(invocation, request, project)
    number = sum(len(found) for found in report.findings.values())
    document = {
        "root": str(project.root),
        "findings": [
            {"operation": operation, **msgspec.to_builtins(each)}
            for operation, found in report.findings.items()
            for each in found
        ],
        "totals": {
            "findings": number,
            "nodes": report.nodes,
            "unreadable": list(report.unreadable),
        },
    }
    emit(options, document, _lines(report, number, document["totals"]))
    return 1 if number else 0


def _lines(report: FindingsReport, number: int, totals: Any) -> Iterator[str]:
    codes: Counter[str] = Counter()
    for found in report.findings.values():
        for each in found:
            codes[each.code] += 1
            name = split_node_key(each.node_id)[1]
            yield escape_line(f"{each.path}:{each.line}: {each.code} {name}: {each.message}")
    named = ", ".join(f"{code} {n:,}" for code, n in codes.most_common())
    checked = count(report.nodes, "node")
    yield f"{count(number, 'finding')} in {checked}" + (f": {named}" if named else "")
    yield from unreadable_lines(totals, terminal_width())
