"""The lint operation, which removes ruff findings from a node."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from remora.operations.base import JobFindings, Need, Operation, Parts, Phrase, Totals, is_lint_code
from remora.text import plural

if TYPE_CHECKING:
    from remora.config.schema import OperationConfig


def _load() -> Parts:
    from remora.operations.lint.checks import fewer_findings, keeps_definitions, whole_fixes
    from remora.operations.lint.host_findings import file_findings
    from remora.operations.lint.host_fix import fix_findings
    from remora.operations.lint.lint_need import all_findings, fixable_findings
    from remora.tools.host_functions import HostFunction

    return Parts(
        needs={
            "ruff": Need(prepare=all_findings, counts_findings=True),
            "fixable": Need(prepare=fixable_findings, counts_findings=True),
        },
        checks={
            "fewer_findings": fewer_findings,
            "keeps_definitions": keeps_definitions,
            "whole_fixes": whole_fixes,
        },
        host_functions=(
            HostFunction(function=file_findings, seconds=60.0),
            HostFunction(function=fix_findings, seconds=120.0, writes=True),
        ),
    )


def _measure(jobs: Sequence[JobFindings], planned: int) -> dict[str, int] | None:
    linted = [job for job in jobs if job.codes and all(map(is_lint_code, job.codes))]
    if not linted:
        return None
    met = sum(sum(job.fixed.values()) + sum(job.left.values()) for job in linted)
    fixed = sum(sum(job.fixed.values()) for job in linted if job.is_counted)
    return {"fixed": fixed, "of": max(planned, met)}


def _phrase(measure: Mapping[str, int]) -> Phrase:
    what = f"{plural('finding', measure['of'])} fixed"
    return Phrase(done=measure["fixed"], of=measure["of"], what=what)


def _settings() -> "type[OperationConfig]":
    from remora.operations.lint.lint_settings import LintConfig

    return LintConfig


LINT = Operation(
    name="lint",
    folder=Path(__file__).parent,
    job_seconds=0.05,
    unit_seconds=0.004,
    unit="finding",
    by_default=True,
    load=_load,
    settings=_settings,
    totals=Totals(key="findings", measure=_measure, phrase=_phrase, counts_findings=True),
)
