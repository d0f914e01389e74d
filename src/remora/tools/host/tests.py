"""Host functions of the test agent: what a test can be made of, writing it, running tests."""

import ast
from collections.abc import Mapping
from typing import Any

import msgspec

from remora.code.mutants import mutants
from remora.code.source import Unreadable, read_source
from remora.code.suite import is_test_file
from remora.code.testing import (
    Case,
    Home,
    Subject,
    best_cases,
    candidate_calls,
    home_of,
    is_sound,
    statements,
    subject_of,
    with_test,
)
from remora.code.testing.placing import test_name
from remora.errors import HostError
from remora.tools.host.added import new_findings
from remora.tools.host.place import Place
from remora.tools.host.proving.proof import prove, ran, why_not
from remora.tools.host.proving.trying import cases_of, killed_by
from remora.tools.host.ruff import check_text, with_sorted_imports
from remora.tools.host.text import Text, decode

MOST_IDS = 50
_MOST_CALLS = 40
_MOST_FILES = 400
_WIDTH = 88
_WORTH = 0.25
"""A test that notices fewer of the faults than this part is not worth keeping."""


def test_plan(place: Place, path: str, node: str) -> dict[str, Any]:
    """What a test of a function (by qualname) could assert.

    It is called with values from examples, from the project's own calls, by type and by use, twice in
    different circumstances, and once with each of its mutants. `cases` are the calls that together
    tell most mutants apart: `call`, and `value` or `raises`; `killed` of `mutants`, `lines` of `all_lines`, and the same in
    `of_values` for the cases that raise nothing. `state` is `open`, or `unfit` with a `reason`.
    """
    subject = _subject(place, path, node)
    if isinstance(subject, str):
        return {"state": "unfit", "reason": subject, "cases": []}
    calls = candidate_calls(subject, _callers(place, subject))
    try:
        cases = cases_of(place, subject, calls) if calls else []
    except HostError as error:
        if not error.message.startswith("import of "):
            raise
        return {"state": "unfit", "reason": error.message, "cases": []}
    if not cases:
        why = "no call with values that are known comes to something that a test can say"
        return {"state": "unfit", "reason": why, "cases": [], "calls": len(calls)}
    faults = mutants(place.read(path), node)
    killed = killed_by(place, subject, cases, faults)
    chosen = best_cases(cases, killed)
    if not chosen:
        why = "no fault in it would change what the calls come to, or they come to nothing"
        return {"state": "unfit", "reason": why, "cases": [], "calls": len(calls)}
    dead = frozenset[int]().union(*(killed[case.call] for case in chosen))
    if len(dead) < _WORTH * len(faults):
        why = f"only {len(dead)} of {len(faults)} faults in it would change what the calls come to"
        return {"state": "unfit", "reason": why, "cases": [], "calls": len(calls)}
    home = home_of(subject, _tests(place), place.files.exists)
    return {
        "state": "open",
        "reason": "",
        "path": home.path,
        "cases": [msgspec.to_builtins(case) for case in chosen],
        "calls": len(calls),
        **_worth(subject, chosen, killed, len(faults)),
        "of_values": _worth(subject, [c for c in chosen if not c.raises], killed, len(faults)),
    }


def _worth(
    subject: Subject, cases: list[Case], killed: Mapping[str, frozenset[int]], faults: int
) -> dict[str, int]:
    """What a test of these cases notices and runs."""
    dead = frozenset[int]().union(*(killed[case.call] for case in cases))
    return {"killed": len(dead), "mutants": faults, **_lines(subject, cases)}


def _lines(subject: Subject, chosen: list[Case]) -> dict[str, int]:
    """How many lines of the function the chosen cases run, and how many there are to run."""
    body = {one.lineno for one in ast.walk(subject.function) if isinstance(one, ast.stmt)}
    body -= {subject.function.lineno}
    said = subject.function.body[0]
    if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant):
        body.discard(said.lineno)
    run = {line for case in chosen for line in case.lines}
    return {"lines": len(body & run), "all_lines": len(body)}


def observe_calls(place: Place, path: str, node: str, calls: list[str]) -> list[dict[str, Any]]:
    """What calls of a function come to, as source text over names of its module: `value` or `raises`;
    neither where it is not the same twice, or nothing that a test could say."""
    subject = _subject(place, path, node)
    if isinstance(subject, str):
        raise HostError(f"{node}: {subject}")
    if len(calls) > _MOST_CALLS:
        raise HostError(f"at most {_MOST_CALLS} calls at once")
    cases = {case.call: case for case in cases_of(place, subject, calls)}
    return [
        {"call": c, "value": cases[c].value, "raises": cases[c].raises}
        if c in cases
        else {"call": c}
        for c in calls
    ]


def write_test(place: Place, path: str, node: str, cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Write a test of a function that asserts the cases, into the file where the project would have it.

    Raises HostError, and writes nothing, where the file would have new findings, or the names that
    the test needs mean something else there. Says `path`, `name` and `id`.
    """
    subject = _subject(place, path, node)
    if isinstance(subject, str):
        raise HostError(f"{node}: {subject}")
    try:
        given = msgspec.convert(cases, list[Case])
    except msgspec.ValidationError as error:
        raise HostError(f"cases: {error}") from None
    unsound = [case.call for case in given if not is_sound(case)]
    if unsound:
        raise HostError(f"cases: {unsound[0]} is no call that comes to a literal, or raises")
    home = home_of(subject, _tests(place), place.files.exists)
    body = statements(given, home.quote, _WIDTH)
    if not body:
        raise HostError("no case fits a line")
    text = _text_of(place, home)
    written = with_test(
        text.body, home, test_name(node), body, _known(subject, home, given), _WIDTH
    )
    if isinstance(written, str):
        raise HostError(written)
    content = _liked(place, home, text._replace(body=written.text).bytes())
    (place.write if home.exists else place.create)(home.path, content)
    return {"path": home.path, "name": written.name, "id": f"{home.path}::{written.name}"}


def _text_of(place: Place, home: Home) -> Text:
    """The file as it is; empty where it is to be made."""
    text = decode(home.path, place.read(home.path) if home.exists else b"")
    if "\r" in text.body:
        raise HostError(f"{home.path}: its lines end with carriage returns")
    return text


def _liked(place: Place, home: Home, content: bytes) -> bytes:
    """The file as the project's lint rules would have its imports. Raises HostError for other new
    findings."""
    found = check_text(place, home.path, place.read(home.path)) if home.exists else []
    extra = new_findings(found, check_text(place, home.path, content))
    if extra and all(str(each["code"]).startswith("I0") for each in extra):
        content = with_sorted_imports(place, home.path, content)
        extra = new_findings(found, check_text(place, home.path, content))
    if extra:
        raise HostError(f"{home.path}: it would add {extra[0]['code']}: {extra[0]['message']}")
    return content


def run_tests(place: Place, ids: list[str], path: str = "", node: str = "") -> dict[str, Any]:
    """Run tests by pytest's ids, isolated and with no effect on the tree: `passed`, a `problem`, and of
    each test `outcome`, `message` and whole `seconds`.

    With `path` and `node` also twice, and with every mutant of that function: `killed` of `mutants`,
    and which `survived`.
    """
    _check_ids(place, ids)
    if node:
        proof = prove(place, path, node, ids)
        return {
            "passed": not proof.problem,
            "problem": proof.problem,
            "tests": _told(proof.tests),
            "killed": len(proof.killed),
            "mutants": proof.tried,
            "survived": list(proof.survived),
            "lines": len(proof.lines),
        }
    told = ran(place, ids[0].partition("::")[0], [""], ids)
    problem = why_not(told, ids)
    return {"passed": not problem, "problem": problem, "tests": _told(told.get("tests") or {})}


def coverage_of(place: Place, ids: list[str], path: str) -> list[int]:
    """Lines of the file `path` that are run by tests."""
    _check_ids(place, ids)
    lines = ran(place, path, [""], ids).get("lines")
    return [number for number in lines if isinstance(number, int)] if lines else []


def _check_ids(place: Place, ids: list[str]) -> None:
    if not 0 < len(ids) <= MOST_IDS:
        raise HostError(f"between 1 and {MOST_IDS} ids at once")
    for each in ids:
        path = each.partition("::")[0]
        if path.startswith("-") or not place.files.exists(path):
            raise HostError(f"{path}: there is no such file")


def _told(tests: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Whole seconds: what a clock says beside that is not the same twice."""
    return {
        name: {
            "outcome": str(test.get("outcome")),
            "message": str(test.get("message"))[:200],
            "seconds": int(test.get("ms") or 0) // 1000,
        }
        for name, test in tests.items()
    }


def _subject(place: Place, path: str, node: str) -> Subject | str:
    return subject_of(path, place.read(path), node, place.files.exists)


def _tests(place: Place) -> dict[str, str]:
    """The text of the project's test files."""
    paths = [path for path in place.files.list("**/*.py", look=place.left) if is_test_file(path)]
    found: dict[str, str] = {}
    for path in paths[:_MOST_FILES]:
        try:
            found[path] = decode(path, place.read(path)).body
        except HostError:  # too large, or not UTF-8: it says nothing of how tests look
            continue
    return found


def _callers(place: Place, subject: Subject) -> list[Any]:
    """Trees of the files that call something of that name, or make the class that it is of."""
    words = {subject.function.name, *([subject.owner.name] if subject.owner is not None else [])}
    found: list[Any] = []
    for path in place.files.list("**/*.py", look=place.left):
        if path == subject.path:
            continue
        try:
            content = place.read(path)
        except HostError:
            continue
        if any(f"{word}(".encode() in content for word in words):
            read = read_source(path, content)
            if not isinstance(read, Unreadable):
                found.append(read.tree)
    return found


def _known(subject: Subject, home: Home, cases: list[Case]) -> dict[str, str]:
    """By name, where a test imports it from: what the module itself defines, and exceptions."""
    own = {
        one.name: home.imports_from
        for one in subject.source.tree.body
        if isinstance(one, ast.FunctionDef | ast.ClassDef)
    }
    raised = {case.raises: case.origin for case in cases if case.raises}
    foreign = {name: origin for name, origin in raised.items() if origin not in ("builtins", "")}
    return {**foreign, **own}
