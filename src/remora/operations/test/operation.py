"""The test operation, which writes missing tests and proves that they detect faults."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remora.operations.base import Amount, JobFindings, Need, Operation, Parts, Phrase, Totals
from remora.text import plural

if TYPE_CHECKING:
    from remora.code.syntax.nodes import Module
    from remora.tools.tree import ToolTree

_MISSING = "missing test"
_WEAK = "weak test"
"""A function whose tests miss faults."""
_MEASUREMENTS = ("killed", "mutants", "lines", "all_lines")
"""Measurements of a test: killed mutants of all mutants, executed lines of all lines."""


def _load() -> Parts:
    from remora.judges.runner.parent import require_pytest
    from remora.judges.tests.judged_tests import judge_change
    from remora.operations.test import checks
    from remora.operations.test.collection_check import require_collection
    from remora.operations.test.file_tests import write_tests
    from remora.operations.test.host_model_tests import run_code, write_test
    from remora.operations.test.insert.merge_patches import keep_both_tests
    from remora.operations.test.shown_function import show_function
    from remora.tools.host_functions import HostFunction

    return Parts(
        needs={"test": Need(prepare=_prepare)},
        checks={
            "test_only_adds": checks.test_only_adds,
            "test_findings": checks.test_findings,
            "test_passes": checks.test_passes,
            "test_kills_mutant": checks.test_kills_mutant,
        },
        host_functions=(
            HostFunction(function=show_function, seconds=90.0, runs_project_code=True),
            HostFunction(function=run_code, seconds=40.0, runs_project_code=True),
            HostFunction(function=write_test, seconds=200.0, runs_project_code=True, writes=True),
            HostFunction(function=write_tests, seconds=600.0, runs_project_code=True, writes=True),
        ),
        check_interpreter=require_pytest,
        check_project=require_collection,
        merge=keep_both_tests,
        judge=judge_change,
    )


def _prepare(place: "ToolTree", _modules: Sequence["Module"], options: Mapping[str, Any]) -> Amount:
    from remora.operations.test.missing_tests import TestNeed

    return TestNeed(place, options).amount


def _measure(jobs: Sequence[JobFindings], _planned: int) -> dict[str, int] | None:
    code = _WEAK if any(_WEAK in job.codes for job in jobs) else _MISSING
    known = [job for job in jobs if code in job.codes]
    if not known:
        return None
    added = [job for job in known if code in job.fixed and job.is_counted]
    measured = Counter[str]()
    for job in added:
        measured.update(job.measurements)
    sums = {name: measured[name] for name in _MEASUREMENTS}
    of = sum(job.fixed.get(code, 0) + job.left.get(code, 0) for job in known)
    found = {"added": sum(job.fixed[code] for job in added), "of": of, **sums}
    return {**found, "further": 1} if code == _WEAK else found


def _phrase(measure: Mapping[str, int]) -> Phrase:
    what = f"missing {plural('test', measure['of'])} added"
    if "further" in measure:
        what = f"{plural('function', measure['of'])} tested further"
    return Phrase(done=measure["added"], of=measure["of"], what=what, more=_detected(measure))


def _detected(measure: Mapping[str, int]) -> str:
    """Describe the killed mutants and the executed lines.

    Return an empty string if they are unknown.
    """
    if not measure["mutants"]:
        return ""
    faults = f"{measure['mutants']:,} planted {plural('fault', measure['mutants'])}"
    lines = f"{measure['all_lines']:,} {plural('line', measure['all_lines'])}"
    return (
        f"detect {measure['killed']:,} of {faults}, "
        f"cover {measure['lines']:,} of {lines} of the tested code"
    )


def _measurement_text(measurements: Mapping[str, int]) -> str:
    if not set(_MEASUREMENTS) <= set(measurements):
        return ""
    killed, mutants = measurements["killed"], measurements["mutants"]
    return f"{killed:,} of {mutants:,} planted faults detected"


TEST = Operation(
    name="test",
    folder=Path(__file__).parent,
    job_seconds=5.0,
    unit_seconds=3.0,
    load=_load,
    totals=Totals(
        key="tests", measure=_measure, phrase=_phrase, measurement_text=_measurement_text
    ),
    checks_run_code=frozenset({"test_passes", "test_kills_mutant"}),
    checks_try_code=frozenset({"changes_tested"}),
)
