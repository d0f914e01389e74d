"""Calls of a function in code that a model wrote."""

import ast
from collections.abc import Iterable, Iterator

from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.operations.test.inputs.arguments import why_unfit
from remora.operations.test.inputs.call_input import CallInput, bound_names
from remora.operations.test.inputs.project_examples import ProjectExamples
from remora.operations.test.model_calls.named_texts import with_named_texts
from remora.operations.test.source_blocks import used_names
from remora.operations.test.target_function import TargetFunction

LONGEST_CODE = 4_000
"""Number of characters of an answer that is read."""


def written_calls(subject: TargetFunction, code: str, examples: ProjectExamples) -> list[CallInput]:
    """Return the calls of the function in a model's answer, with the statements that they need.

    Raises HostError, with a reason, if there are none that a test should make.
    """
    if len(code) > LONGEST_CODE:
        raise HostError(f"the code is longer than {LONGEST_CODE:,} characters")
    tree = parse_text(code)
    if not isinstance(tree, ast.Module):
        raise HostError(f"the code is not Python: {tree}")
    known = {name for one in subject.source.tree.body for name in bound_names(one)}
    body = with_named_texts(_straight_line(tree.body), known | used_names(tree))
    found = examples.calls_written(subject, body)
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
