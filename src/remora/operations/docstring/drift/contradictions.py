"""All contradictions between a docstring and its code."""

from remora.operations.docstring.drift.defaults import default_findings
from remora.operations.docstring.drift.documented_exceptions import exception_findings
from remora.operations.docstring.drift.documented_parameters import parameter_findings
from remora.operations.docstring.drift.documented_results import result_findings
from remora.operations.docstring.drift.documented_types import type_findings
from remora.operations.docstring.drift.drift_finding import DocumentedCode, DriftFinding
from remora.operations.docstring.drift.truth import truth_findings

_CHECKS = (
    parameter_findings,
    default_findings,
    type_findings,
    exception_findings,
    result_findings,
    truth_findings,
)


def find_contradictions(code: DocumentedCode) -> tuple[DriftFinding, ...]:
    """Return the contradictions between a docstring and its code, in the docstring's order."""
    found = [each for check in _CHECKS for each in check(code)]
    return tuple(sorted(found, key=lambda each: each.line))
