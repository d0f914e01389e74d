"""Arguments that a project passes to parameters of the same name in functions of the same module."""

import ast
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from remora.code.syntax.definitions import FunctionNode
from remora.operations.test.inputs.call_input import CallInput
from remora.operations.test.inputs.code_slices import without_unused
from remora.operations.test.inputs.project_examples import ProjectExamples
from remora.operations.test.target_function import TargetFunction

_MOST_SIBLINGS = 12
_MOST_CALLS = 8
_MOST_OF_ONE = 4
_LONGEST = 160
_SHORTEST_NAME = 2
_VAGUE = frozenset({"value", "val", "other", "obj", "arg", "args", "item", "data", "kwargs"})
"""Parameter names that say too little to share arguments."""


def sibling_calls(subject: TargetFunction, examples: ProjectExamples) -> list[CallInput]:
    """Return calls of the function with arguments that the project passes to its siblings.

    Siblings are the functions of the module, or the methods of the class. The list is empty if a
    required parameter has no namesake, or if the function takes any number of arguments.
    """
    if subject.parameters.vararg is not None:
        return []
    found: dict[tuple[str, tuple[str, ...]], CallInput] = {}
    for sibling in _siblings(subject)[:_MOST_SIBLINGS]:
        if not _is_related(subject, sibling):
            continue
        for number, each in enumerate(examples.calls_named(sibling.name, subject)):
            call = _with_arguments(subject, sibling, each)
            if call is not None and number < _MOST_OF_ONE:
                found.setdefault((call.call, call.setup), call)
        if len(found) >= _MOST_CALLS:
            break
    return list(found.values())[:_MOST_CALLS]


def _siblings(subject: TargetFunction) -> list[FunctionNode]:
    """Return the functions beside the function, the nearest first."""
    owner = subject.qualname.rpartition(".")[0]
    body = subject.source.tree.body if not owner else subject.owner.body if subject.owner else []
    functions = [one for one in body if isinstance(one, FunctionNode)]
    others = [one for one in functions if not one.name.startswith("_") and one.name != subject.name]
    line = subject.function.lineno
    return sorted(others, key=lambda one: abs(one.lineno - line))


def _is_related(subject: TargetFunction, sibling: FunctionNode) -> bool:
    """Return True if each required parameter has a namesake among the sibling's parameters."""
    if subject.function.name == sibling.name:
        return False
    theirs = [arg.arg for arg in (*sibling.args.posonlyargs, *sibling.args.args)]
    return all(_namesake(name, theirs[subject.implied :]) for name in _required(subject))


def _required(subject: TargetFunction) -> list[str]:
    args = subject.parameters
    placed = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    end = len(placed) - len(args.defaults)
    named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return [*placed[subject.implied : end], *(arg.arg for arg, one in named if one is None)]


def _namesake(name: str, others: list[str]) -> str:
    """Return the same name, or one of which one is an abbreviation of the other."""
    if name in _VAGUE or len(name) < _SHORTEST_NAME:
        return ""
    if name in others:
        return name
    fitting = (one for one in others if _abbreviates(name, one) or _abbreviates(one, name))
    return next(fitting, "")


def _abbreviates(short: str, full: str) -> bool:
    """Return True for `tbl` and `table`."""
    if not _SHORTEST_NAME < len(short) < len(full) or short[0] != full[0]:
        return False
    rest = iter(full)
    return all(letter in rest for letter in short)


def _with_arguments(
    subject: TargetFunction, sibling: FunctionNode, found: CallInput
) -> CallInput | None:
    call = ast.parse(found.call, mode="eval").body
    if not isinstance(call, ast.Call):
        return None
    given = _arguments_of(call, sibling, subject.implied)
    function: ast.expr = ast.Name(subject.qualname)
    if subject.owner is not None:
        if not isinstance(call.func, ast.Attribute):
            return None
        function = ast.Attribute(call.func.value, subject.function.name)
    words = list(_words(subject, given))
    if len(words) < len(_required(subject)):
        return None
    text = f"{ast.unparse(function)}({', '.join(words)})"
    if len(text) > _LONGEST:
        return None
    return without_unused(replace(found, call=text, source="sibling"))


def _arguments_of(call: ast.Call, sibling: FunctionNode, implied: int) -> Mapping[str, ast.expr]:
    names = [arg.arg for arg in (*sibling.args.posonlyargs, *sibling.args.args)][implied:]
    placed = dict(zip(names, call.args, strict=False))
    return placed | {word.arg: word.value for word in call.keywords if word.arg}


def _words(subject: TargetFunction, given: Mapping[str, ast.expr]) -> Iterator[str]:
    by_place = {arg.arg for arg in (*subject.parameters.posonlyargs, *subject.parameters.args)}
    for name in _required(subject):
        value = given.get(_namesake(name, list(given)))
        if value is not None:
            text = ast.unparse(value)
            yield text if name in by_place else f"{name}={text}"
