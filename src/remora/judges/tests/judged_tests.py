"""The judgement of a change by tests: tests that say nothing, and lines that no test notices.

What can be read in their source is judged first, without running code. If the project's code may be
run, each test then runs in two circumstances and with planted faults.
"""

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.changed_behavior import lost_guards
from remora.errors import HostError
from remora.judges.judged_change import LATE, Change, Judged, Late, ReportedFinding, Unjudged
from remora.judges.tests.circumstances import (
    ELSEWHERE,
    HERE,
    fails_for_others,
    find_causes,
    of_this_user,
)
from remora.judges.tests.entered_functions import entered_functions
from remora.judges.tests.hollow import (
    assertion_lines,
    expects_anything,
    is_self_contained,
    is_weak,
    only_arguments,
    thrown_away,
    why_hollow,
)
from remora.judges.tests.mocks import uses_mocks, why_mocked
from remora.judges.tests.planted_faults import Planted, plant_faults
from remora.judges.tests.repeated import duplicates, repeated_tests
from remora.judges.tests.test_runs import Outcomes, run_tests
from remora.judges.tests.untested_lines import UNNOTICED, UNTESTED, untested_lines
from remora.judges.tests.written_test import WrittenTest, changed_tests, lost_checks, tests_in
from remora.text import count, some_of

HOLLOW, DUPLICATE, MOCKED = "hollow test", "duplicate test", "mocked test"
ELSEWHERE_FAILS = "environment-bound test"
ADVICE = {
    HOLLOW: "Assert the value that the code has to return.",
    DUPLICATE: "Delete it, or assert what no other test does.",
    MOCKED: "Call the real function, and replace only what it uses.",
    ELSEWHERE_FAILS: "Set what it depends on in the test itself.",
    UNTESTED: "Add a test that runs the marked line.",
    UNNOTICED: "Add a case that this fault would fail; `remora judge --add-tests` tries to write it.",
}
"""What to do about a remark, by its code."""
_LOST = (
    ("deleted test", "what they tested is judged only where it has changed"),
    ("weaker test", "it has fewer assertions or rows than before, and no new ones"),
    ("lost or changed guard", "tests that pass before and after do not show whether it is meant"),
)
"""Named, and no remarks: 8 of 305 commits to the tests of nine projects have a weaker one, and 15 of
469 to the other code of eight lose a guard. An agent that must make tests pass does both."""
_LEAST_FAULTS = 3
"""With fewer faults, tests that detect none of them say little (decision)."""
_MANY_FAULTS = 25
"""With so many faults, it does not matter if some functions have none (decision)."""


def judge_change(change: Change, tell: Callable[[str], None]) -> Iterator[Judged]:
    """Yield the changed tests that say nothing, and the changed lines that no test notices."""
    begun, tests = time.monotonic(), [*changed_tests(change)]
    found = dict(_by_source(change, tests))
    if change.after.python is None:
        yield Judged(findings=tuple(found.values()), unjudged=tuple(_lost(change)))
        return
    lines = _judged_lines(change, begun + change.seconds / 2, tell)
    yield msgspec.structs.replace(lines, missed=_missed(change, lines.findings))
    yield _judged_tests(change, tests, found, begun + change.seconds, tell)


def _lost(change: Change) -> Iterator[Unjudged]:
    lost = zip((*lost_checks(change), [*_lost_guards(change)]), _LOST, strict=True)
    for ids, (name, why) in lost:
        if ids:
            yield Unjudged(what=f"{count(len(ids), name)}: {some_of(ids, 3)}", why=why)


def _lost_guards(change: Change) -> Iterator[str]:
    for path, file in change.files.items():
        if file.trees is not None and not is_of_tests(path):
            yield from (f"{path}:{guard}" for guard in lost_guards(*file.trees))


def _missed(change: Change, findings: Sequence[ReportedFinding]) -> dict[str, tuple[int, ...]]:
    """Return the changed lines of the functions whose tests miss a fault."""
    named = {finding.node_id for finding in findings if finding.code == UNNOTICED}
    return {
        node.key: tuple(sorted(file.lines & {*range(node.line_start, node.line_end + 1)}))
        for file in change.files.values()
        for node in file.changed_functions
        if node.key in named
    }


def _judged_lines(change: Change, ends: float, tell: Callable[[str], None]) -> Judged:
    tell("planting faults in the changed lines")
    try:
        return untested_lines(change, lambda: time.monotonic() > ends)
    except HostError as error:
        what = "whether tests notice the changed lines"
        return Judged(unjudged=(_unjudged(what, error, ends),))


def _unjudged(what: str, error: HostError, ends: float) -> Unjudged:
    """Return what an error leaves open, as late if the end has passed."""
    kind = Late if time.monotonic() > ends else Unjudged
    return kind(what=what, why=error.message)


def _judged_tests(
    change: Change,
    tests: Sequence[WrittenTest],
    found: dict[str, ReportedFinding],
    ends: float,
    tell: Callable[[str], None],
) -> Judged:
    left = [test for test in tests if test.id not in found]
    unjudged = list[Unjudged]()
    try:
        if left:
            unjudged = _run(change, left, found, ends, tell)
    except HostError as error:
        unjudged = [_unjudged(f"whether {count(len(left), 'changed test')} can fail", error, ends)]
        return Judged(findings=tuple(found.values()), unjudged=tuple(unjudged))
    return Judged(
        findings=tuple(found.values()), unjudged=tuple(unjudged), ran=len(unjudged) < len(left)
    )


def _by_source(
    change: Change, tests: Sequence[WrittenTest]
) -> Iterator[tuple[str, ReportedFinding]]:
    same = duplicates(change, tests)
    for test in tests:
        if test.id in same:
            message = f"it asserts nothing that `{same[test.id].name}` does not assert"
            yield test.id, _finding(test, DUPLICATE, message)
        elif why := why_mocked(test.function, test.claims):
            yield test.id, _finding(test, MOCKED, why)
        elif why := why_hollow(test.function, test.claims):
            yield test.id, _finding(test, HOLLOW, why)
        elif is_self_contained(test.function, test.module):
            yield test.id, _finding(test, HOLLOW, "it uses nothing but what is in its own file")


def _run(
    change: Change,
    tests: Sequence[WrittenTest],
    found: dict[str, ReportedFinding],
    ends: float,
    tell: Callable[[str], None],
) -> list[Unjudged]:
    """Judge tests by running them, add findings to `found`, and return what could not be judged."""
    tell("running the changed tests")
    place = change.after
    ids = [test.id for test in tests]
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(run_tests, place, ids, ELSEWHERE)
        here, there = run_tests(place, ids, HERE, traced=True), waiting.result()
    passing = [test for test in tests if here.of(test.id) == "passed"]
    others = [test for test in tests if test not in passing]
    unjudged = [*_bound_to_user(change, others, here, found)]
    bound = [test for test in passing if there.of(test.id) in ("failed", "error")]
    unjudged += _bound(change, bound, there, found)
    stable = [test for test in passing if test not in bound]
    for test in filter(functools.partial(_asserts_nothing, here), stable):
        found[test.id] = _finding(test, HOLLOW, "none of its assertions is executed")
    left = [test for test in stable if test.id not in found]
    tell("planting faults in what the changed tests run")
    return [*unjudged, *_plant(change, left, here, found, ends)]


def _plant(
    change: Change,
    tests: Sequence[WrittenTest],
    here: Outcomes,
    found: dict[str, ReportedFinding],
    ends: float,
) -> Iterator[Unjudged]:
    """Judge tests by planted faults, add findings to `found`, and yield what is left open.

    Half of the time until `ends` is for tests that may repeat others.
    """
    place, half = change.after, (time.monotonic() + ends) / 2
    entered = entered_functions(place, here.seen)
    known = {test.id: test for test in tests}
    try:
        repeated, late = repeated_tests(change, tests, entered, lambda: time.monotonic() > half)
    except HostError as error:
        repeated, late = {}, []
        yield _unjudged(f"whether {count(len(known), 'test')} repeat others", error, half)
    found |= {test: _finding(known[test], DUPLICATE, why) for test, why in repeated.items()}
    if late:
        whether = f"whether tests repeat others: {some_of(late, 3)}"
        yield Late(what=whether)
    left = [test for test in tests if test.id not in found]
    planted = plant_faults(place, left, entered, lambda: time.monotonic() > ends)
    for test in left:
        shown = planted.get(test.id)
        is_late = shown is not None and shown.late and not shown.asserted
        why, unknown = ("", "") if is_late else _by_faults(test, shown)
        is_known = test.id in entered
        if is_known and test.id not in planted and uses_mocks(test.function):
            words = "beside its mocks, it runs no code of the project"
            found[test.id] = _finding(test, MOCKED, words)
        elif why:
            found[test.id] = _finding(test, HOLLOW, why)
        elif unknown or is_late:
            yield Late(what=test.id) if is_late else Unjudged(what=test.id, why=unknown)


def _asserts_nothing(here: Outcomes, test: WrittenTest) -> bool:
    """Return True if lines of a test were seen to run, but none of its assertions."""
    lines = assertion_lines(test.function)
    run = here.lines.get(test.path, lines) & test.lines
    return bool(lines and run) and lines.isdisjoint(run)


def _bound(
    change: Change,
    tests: Sequence[WrittenTest],
    there: Outcomes,
    found: dict[str, ReportedFinding],
) -> Iterator[Unjudged]:
    """Add a finding for tests that fail elsewhere, and yield those whose file has more of them."""
    place, reasons = change.after, find_causes(change.after, [test.id for test in tests])
    changed = {test.id for test in changed_tests(change)}
    habits = dict[tuple[str, str], bool]()
    for test in tests:
        words = reasons[test.id]
        message = f"it fails with {words or 'other surroundings'}: {there.message(test.id)}"
        if words and (test.path, words) not in habits:
            in_file = tests_in(test.path, change.files[test.path].after)
            others = [other.id for other in in_file if other.id not in changed]
            habits[test.path, words] = fails_for_others(place, words, others)
        if habits.get((test.path, words)):
            why = f"it fails with {words}, like tests that its file already had"
            yield Unjudged(what=test.id, why=why)
        else:
            found[test.id] = _finding(test, ELSEWHERE_FAILS, message)


def _bound_to_user(
    change: Change,
    tests: Sequence[WrittenTest],
    here: Outcomes,
    found: dict[str, ReportedFinding],
) -> Iterator[Unjudged]:
    """Add a finding for tests that pass only with the user's variables, and yield the others."""
    failed = [test.id for test in tests if here.of(test.id) in ("failed", "error")]
    own = run_tests(change.after, failed, of_this_user(change.environ)) if failed else here
    for test in tests:
        outcome = here.of(test.id)
        if test.id in failed and own.of(test.id) == "passed":
            message = f"it passes only with your environment variables: {here.message(test.id)}"
            found[test.id] = _finding(test, ELSEWHERE_FAILS, message)
        elif test.id in failed:
            why = f"it does not pass in isolation: {here.message(test.id)}"
            yield Unjudged(what=test.id, why=why)
        else:
            why = here.problems.get(test.path) or "pytest does not find it"
            why = "it is skipped" if outcome else why
            yield Late(what=test.id) if why == LATE else Unjudged(what=test.id, why=why)


def _by_faults(test: WrittenTest, planted: Planted | None) -> tuple[str, str]:
    """Return why a test says nothing of the code that it runs, or why that is unknown, or nothing."""
    is_broad = expects_anything(test.function)
    if planted is None or not planted.tried:
        why = "it runs no function of the project in which a fault could be planted"
        return (f"it expects any exception, and {why}", "") if is_broad else ("", why)
    if planted.asserted:
        only_weak = bool(test.claims) and all(map(is_weak, test.claims))
        return "it asserts only that there is a result, or its type" if only_weak else "", ""
    if planted.raised and test.claims:
        return "", f"it fails only with errors that {planted.tried} faults make the code raise"
    if only_arguments(test.function, test.claims):
        return "", "it asserts that an argument stays as it is, which no planted fault changes"
    is_sure = len(planted.functions) == planted.entered or planted.passed >= _MANY_FAULTS
    if planted.passed < _LEAST_FAULTS or not is_sure:
        return (
            "",
            f"only {planted.passed} faults that do not crash could be planted in what it runs",
        )
    return _why_undetected(test, planted), ""


def _why_undetected(test: WrittenTest, planted: Planted) -> str:
    if not test.claims:
        call = thrown_away(test.function)
        return f"it asserts nothing, and does not use the result of `{call}`" if call else ""
    where = ", ".join(f"`{name}`" for name in dict.fromkeys(planted.functions[:3]))
    return f"no assertion fails for any of {planted.tried} faults planted in {where}"


def _finding(test: WrittenTest, code: str, message: str) -> ReportedFinding:
    line = test.claims[0].line if test.claims else test.line  # its first assertion
    return ReportedFinding(path=test.path, line=line, node_id=test.key, code=code, message=message)
