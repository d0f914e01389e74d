"""The JSON document of an evaluation."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from remora.evals.scores import (
    Estimate,
    by_kind,
    by_source,
    differences,
    estimates,
    outcomes_of,
)
from remora.evals.slot_results import ArmResult, OperationResult, RestoreReport

_DIGITS = 4
_MOST_EXAMPLES = 50


def restore_document(report: RestoreReport) -> dict[str, Any]:
    """Return what `eval --json` prints."""
    return {
        "kind": "eval",
        "seed": report.seed,
        "versions": dict(report.versions),
        "commit": report.commit,
        "operations": [_operation(each, report.seed) for each in report.operations],
        "notes": list(report.notes),
    }


def _operation(found: OperationResult, seed: int) -> dict[str, Any]:
    first = found.arms[0] if found.arms else None
    return {
        "operation": found.operation,
        "found": found.found,
        "slots": len(found.slots),
        "files": len({slot.path for slot in found.slots}),
        "hidden": dict(found.hidden),
        "arms": [_arm(each, first if each is not first else None, seed) for each in found.arms],
        "examples": list(_examples(found.arms)),
    }


def _arm(arm: ArmResult, first: ArmResult | None, seed: int) -> dict[str, Any]:
    """Return an arm's entry, with differences to the first arm if it is another one."""
    compared = first is not None and bool(first.results) and bool(arm.results)
    return {
        "name": arm.name,
        "model": arm.model,
        "error": arm.error or None,
        "slots": len(arm.results),
        **outcomes_of(arm.results),
        **_shares(estimates(arm.results, seed)),
        "by_kind": by_kind(arm.results),
        "by_source": {
            source: {"written": counts.written, "right": counts.right}
            for source, counts in by_source(arm.results).items()
        },
        "against_first": _shares(differences(first.results, arm.results, seed))
        if compared and first is not None
        else None,
        "jobs": dict(arm.jobs),
        "job_errors": dict(arm.job_errors),
        "conflicts": arm.conflicts,
        "decided_by": dict(arm.decided_by),
        "requests": arm.requests,
        "tokens": arm.tokens,
        "seconds": arm.seconds,
        "resumed": arm.resumed,
    }


def _shares(found: dict[str, Estimate]) -> dict[str, Any]:
    return {
        key: value
        for name, each in found.items()
        for key, value in (
            (name, None if each.value is None else round(each.value, _DIGITS)),
            (f"{name}_ci95", each.interval and [round(end, _DIGITS) for end in each.interval]),
        )
    }


def _examples(arms: Sequence[ArmResult]) -> Iterator[dict[str, Any]]:
    """Yield the texts that differ from those of people, at most so many of each arm."""
    for arm in arms:
        different = [each for each in arm.results if each.outcome == "different"]
        for each in different[:_MOST_EXAMPLES]:
            yield {
                "arm": arm.name,
                **{key: getattr(each.slot, key) for key in ("path", "qualname", "part")},
                "people": each.slot.text,
                "written": each.text,
                "source": each.source,
                "probability": msgspec.to_builtins(each.probability),
            }
