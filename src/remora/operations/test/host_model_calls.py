"""Host functions with which a model's calls of a function are measured and become a test."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from remora.code.edit.text_lines import decode, split_lines
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.operations.test.chosen_cases import chosen_cases, detected_by
from remora.operations.test.function_context import target_at
from remora.operations.test.function_plan import line_counts
from remora.operations.test.host_write import write_test
from remora.operations.test.inputs.call_input import CallInput
from remora.operations.test.inputs.project_examples import ProjectExamples, why_unfit
from remora.operations.test.mutants import Mutant, mutants
from remora.operations.test.planning.tested_names import NodesWithTests
from remora.operations.test.runner.mutation_check import surviving_mutants
from remora.operations.test.runner.trials import try_calls
from remora.operations.test.target_function import TargetFunction
from remora.tools.tree import ToolTree

_MOST_LINES = 60
_MOST_CALLS = 3
_MOST_FAULTS = 8
_MOST_TESTS = 40
_LONGEST_CODE = 4_000
"""Number of characters of an answer that is read."""


class _Present(NamedTuple):
    """The ids of the tests that enter a function, and the planted faults that they miss."""

    tests: Sequence[str]
    alive: Sequence[Mutant]


def call_question(
    place: ToolTree, path: str, node: str, strengthen: bool = False
) -> dict[str, Any]:
    """Return what a model needs to know to write calls of a function.

    The result contains the `lines` and the `text` of the function, at most 60 lines; the
    constructor of its class in `made_by`, or an empty string; some `calls` of it in the project;
    its `tests`; and the planted `faults` that no test detects, in words. Tests that call the
    function indirectly count if `strengthen` is true. If the function cannot be examined, the
    result contains only the reason, in `problem`.
    """
    try:
        return _question(place, path, node, strengthen)
    except HostError as error:
        return {"problem": error.message}


def write_calls(
    place: ToolTree, path: str, node: str, code: str, strengthen: bool = False
) -> dict[str, Any]:
    """Write a test of a function from calls in `code`, which a model wrote.

    `code` is Python: calls of the function, after the statements that they need. Each call runs
    twice in different circumstances, and with the mutants that no test detects. The test asserts
    what the calls return, or what the code asserts about something else.

    The result contains the `path` and the `ids` of the new tests, their `calls`, and `first`, which
    is true if no other test enters the function. `mutants` is the number of mutants that other
    tests do not detect; the new tests `killed` some of them, and others are `left`. `lines` of
    `all_lines` were executed. If nothing is written, the result contains only the reason, in
    `problem`.
    """
    try:
        return _written(place, path, node, code, strengthen)
    except HostError as error:
        return {"problem": error.message}


def _question(place: ToolTree, path: str, node: str, strengthen: bool) -> dict[str, Any]:
    """Return the same as `call_question`. Raises HostError if the function cannot be examined."""
    subject = _subject(place, path, node)
    examples = ProjectExamples(place)
    present = _present(place, subject, examples, indirect=strengthen)
    lines = split_lines(decode(path, place.read(path)).body)
    first = subject.function.lineno
    last = min(subject.function.end_lineno or first, first + _MOST_LINES - 1)
    calls = dict.fromkeys(each.call for each in examples.calls_of(subject))
    return {
        "lines": [first, last],
        "text": "\n".join(lines[first - 1 : last]),
        "made_by": _constructor(subject),
        "calls": [*calls][:_MOST_CALLS],
        "tests": list(present.tests),
        "faults": [f"line {one.line}: {one.what}" for one in present.alive[:_MOST_FAULTS]],
    }


def _written(place: ToolTree, path: str, node: str, code: str, strengthen: bool) -> dict[str, Any]:
    """Write a test like `write_calls`. Raises HostError if nothing is written."""
    subject = _subject(place, path, node)
    examples = ProjectExamples(place)
    calls = written_calls(subject, code, examples)
    present = _present(place, subject, examples, indirect=strengthen)
    found = try_calls(place, subject, calls, faults=present.alive)
    first = not present.tests
    chosen, why = chosen_cases(subject, found, is_first=first)
    if why:
        raise HostError(why)
    written = write_test(place, path, node, chosen)
    killed = len(detected_by(chosen, found))
    return {
        "path": written["path"],
        "ids": written["ids"],
        "calls": [case.call for case in chosen],
        "first": first,
        "mutants": len(present.alive),
        "killed": killed,
        "left": len(present.alive) - killed,
        **line_counts(subject, chosen),
    }


def _subject(place: ToolTree, path: str, node: str) -> TargetFunction:
    subject = target_at(place, path, node)
    if isinstance(subject, str):
        raise HostError(f"{node}: {subject}")
    return subject


def _present(
    place: ToolTree, subject: TargetFunction, examples: ProjectExamples, *, indirect: bool
) -> _Present:
    """Return the function's tests and the faults that they do not detect, by running them.

    With `indirect`, tests that do not mention the function are found, too.
    """
    faults = mutants(place.read(subject.path), subject.qualname)
    ids = examples.tests_of(subject)
    if indirect and not ids:
        key = node_key(escape_path(subject.path), subject.qualname)
        ids = NodesWithTests(place.tree).tests_of(key)
    found = surviving_mutants(place, subject, ids[:_MOST_TESTS], faults) if ids else None
    if found is None or not found.tests:
        return _Present([], faults)
    return _Present(found.tests, found.mutants)


def _constructor(subject: TargetFunction) -> str:
    """Return how an object of the method's class is made, such as `Cart(owner, size=3)`."""
    for one in subject.owner.body if subject.owner is not None else ():
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            given = ast.unparse(one.args).partition(",")[2].strip()
            return f"{subject.name}({given})"
    return ""


def written_calls(subject: TargetFunction, code: str, examples: ProjectExamples) -> list[CallInput]:
    """Return the calls of the function in a model's answer, with the statements that they need.

    Raises HostError, with a reason, if there are none that a test should make.
    """
    if len(code) > _LONGEST_CODE:
        raise HostError(f"the code is longer than {_LONGEST_CODE:,} characters")
    tree = parse_text(code)
    if not isinstance(tree, ast.Module):
        raise HostError(f"the code is not Python: {tree}")
    found = examples.calls_written(subject, [*_straight_line(tree.body)])
    if not found:
        name = subject.function.name
        raise HostError(f"no statement calls {name} with names that the code or its module defines")
    problems = [why_unfit(subject, each) for each in found]
    if all(problems):
        raise HostError(f"{found[0].call}: {problems[0]}")
    return [each for each, problem in zip(found, problems, strict=True) if not problem]


def _straight_line(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of the code, and those within tests and `with pytest.raises(...)`."""
    for one in body:
        match one:
            case ast.With(body=inner):
                yield from _straight_line(inner)
            case ast.FunctionDef(name=name, body=inner) if name.startswith("test"):
                yield from _straight_line(inner)
            case _:
                yield one
