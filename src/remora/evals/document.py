"""The JSON document of an evaluation."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from remora.evals.arm_results import OUTCOMES, ArmResult, OperationResult, Report, TargetResult
from remora.evals.scores import Estimate, differences, estimates

_DIGITS = 4
"""Digits of a share (decision: files differ more)."""
_MOST_EXAMPLES = 50
"""Examples of each arm (decision: people read fewer)."""
_COUNTS = (
    *("jobs", "job_errors", "decisions", "conflicts", "turns", "invalid", "refused"),
    *("requests", "tokens", "seconds", "resumed"),
)


def eval_document(report: Report) -> dict[str, Any]:
    """Return what `eval --json` prints."""
    return {
        "kind": "eval",
        "seed": report.seed,
        "versions": dict(report.versions),
        "commit": report.commit,
        "operations": [_operation(operation, report.seed) for operation in report.operations],
        "notes": list(report.notes),
    }


def _operation(found: OperationResult, seed: int) -> dict[str, Any]:
    return {
        "operation": found.operation,
        "basis": found.basis,
        "found": found.found,
        "targets": len(found.targets),
        "files": len({target.path for target in found.targets}),
        "arms": [_arm(found, arm, seed) for arm in found.arms],
        "examples": list(_examples(found.arms)),
    }


def _arm(found: OperationResult, arm: ArmResult, seed: int) -> dict[str, Any]:
    """Return an arm's entry, with differences to the first arm if it is another one."""
    first = found.arms[0]
    compared = arm is not first and bool(first.results) and bool(arm.results)
    return {
        "name": arm.name,
        "model": arm.model,
        "error": arm.error or None,
        "outcomes": _outcomes(found, arm.results),
        **_shares(estimates(found.basis, arm.results, seed)),
        "against_first": _shares(differences(found.basis, first.results, arm.results, seed))
        if compared
        else None,
        **{name: getattr(arm, name) for name in _COUNTS},
    }


def _outcomes(found: OperationResult, results: Sequence[TargetResult]) -> dict[str, int]:
    counts = Counter(result.outcome for result in results)
    return {outcome: counts[outcome] for outcome in OUTCOMES[found.basis]}


def _shares(found: dict[str, Estimate]) -> dict[str, Any]:
    return {
        key: value
        for name, estimate in found.items()
        for key, value in (
            (name, None if estimate.value is None else round(estimate.value, _DIGITS)),
            (
                f"{name}_ci95",
                estimate.interval and [round(end, _DIGITS) for end in estimate.interval],
            ),
        )
    }


def _examples(arms: Sequence[ArmResult]) -> Iterator[dict[str, Any]]:
    """Yield the texts that differ from those of people, at most so many of each arm."""
    for arm in arms:
        different = [result for result in arm.results if result.outcome == "different"]
        for result in different[:_MOST_EXAMPLES]:
            yield {
                "arm": arm.name,
                "path": result.target.path,
                "name": result.target.name,
                "people": result.target.text,
                "written": result.text,
            }
