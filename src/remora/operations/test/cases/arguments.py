"""Candidate calls of a function as source code, most informative first."""

import ast
import re
from collections.abc import Iterable, Iterator

from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.source import parse_text
from remora.operations.test.cases.inverse_functions import inverse_functions, single_argument
from remora.operations.test.cases.sample_values import constructor_call, values_of
from remora.operations.test.cases.type_check import contradicts
from remora.operations.test.target_function import TargetFunction

MAX_CALLS = 40
_LONGEST = 120
_MOST_SITES = 10
_MOST_OWNERS = 3
_MOST_TRIPS = 4
_EXAMPLE = re.compile(r"^\s*>>>\s*(.+)$", re.MULTILINE)


def candidate_calls(subject: TargetFunction, others: Iterable[ast.Module]) -> list[str]:
    """Return up to `MAX_CALLS` calls of the function, as expressions in its module's namespace.

    Calls in docstring examples come first, followed by calls with constant arguments from the
    module and `others` (project files), and then by calls whose values are chosen by type and
    usage. Calls that contradict annotations come last.
    """
    trees = [subject.source.tree, *others]
    receivers = list(_receivers(subject, trees))
    given = [
        *_docstring_examples(subject.function),
        *_constant_arguments(subject.function.name, trees),
        *_calls_from_types(subject),
    ]
    given = list(dict.fromkeys(given))
    calls = [f"{receiver}({words})" for receiver in receivers[:1] for words in given]
    more = [f"{receiver}({words})" for receiver in receivers[1:] for words in given[:6]]
    more += _round_trips(subject)
    calls = calls[: MAX_CALLS - len(more)] + more
    calls = [call for call in calls if len(call) <= _LONGEST]
    return sorted(calls, key=lambda call: contradicts(subject, call))[:MAX_CALLS]


def literal_calls(function: FunctionNode, trees: Iterable[ast.Module]) -> list[str]:
    """Return calls with only literal arguments, first from the docstring and then from `trees`."""
    given = [*_docstring_examples(function), *_constant_arguments(function.name, trees)]
    return [f"{function.name}({words})" for words in given]


def _round_trips(subject: TargetFunction) -> Iterator[str]:
    """Yield nested calls of the function and its inverse, in both orders."""
    if "." in subject.qualname:
        return
    for partner in inverse_functions(subject.function.name, subject.source.tree):
        for inner, outer in ((subject.function, partner), (partner, subject.function)):
            if single_argument(inner) and single_argument(outer):
                arg = [*inner.args.posonlyargs, *inner.args.args][0]
                values = values_of(arg, None, inner, _classes(subject))[:_MOST_TRIPS]
                yield from (f"{outer.name}({inner.name}({value}))" for value in values)


def _receivers(subject: TargetFunction, trees: list[ast.Module]) -> Iterator[str]:
    owner = subject.owner
    if owner is None:
        yield subject.qualname
        return
    method = subject.function.name
    made = list(constructor_call(owner, _classes(subject)))
    sites = [f"{owner.name}({words})" for words in _constant_arguments(owner.name, trees)]
    for maker in list(dict.fromkeys((*sites, *made)))[:_MOST_OWNERS]:
        yield f"{maker}.{method}"


def _docstring_examples(function: FunctionNode) -> Iterator[str]:
    for line in _EXAMPLE.findall(ast.get_docstring(function) or ""):
        tree = parse_text(line)
        if isinstance(tree, ast.Module):
            yield from _constant_arguments(function.name, [tree])


def _constant_arguments(name: str, trees: Iterable[ast.Module]) -> list[str]:
    """Return the argument lists of calls to `name` that have only constant arguments."""
    found: dict[str, None] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _called(node) == name and _is_constant(node):
                words = [ast.unparse(one) for one in node.args]
                words += [f"{one.arg}={ast.unparse(one.value)}" for one in node.keywords]
                found[", ".join(words)] = None
        if len(found) >= _MOST_SITES:
            break
    return list(found)[:_MOST_SITES]


def _called(node: ast.Call) -> str:
    function = node.func
    return getattr(function, "id", "") or getattr(function, "attr", "")


def _is_constant(node: ast.Call) -> bool:
    if any(one.arg is None for one in node.keywords):
        return False
    try:
        for part in (*node.args, *(one.value for one in node.keywords)):
            ast.literal_eval(part)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return False
    return True


def _calls_from_types(subject: TargetFunction) -> Iterator[str]:
    """Yield argument lists based on types, defaults and usage.

    The first list uses the best value of each parameter. Later lists use other values for one or
    more parameters.
    """
    classes, args = _classes(subject), subject.parameters
    positional = [*args.posonlyargs, *args.args][subject.implied :]
    first_default = len(positional) - len(args.defaults)
    values: dict[str, list[str]] = {}
    required: list[str] = []
    for number, arg in enumerate(positional):
        default = args.defaults[number - first_default] if number >= first_default else None
        values[arg.arg] = values_of(arg, default, subject.function, classes)
        required += [arg.arg] if default is None else []
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        values[arg.arg] = values_of(arg, default, subject.function, classes)
        required += [arg.arg] if default is None else []
    if args.vararg is not None and not positional:
        yield "3, 1, 2"
        yield "'a', 'b'"
    by_place = {arg.arg for arg in positional}
    for chosen in _combinations(values, required):
        words = [
            text if name in by_place and name in required else f"{name}={text}"
            for name, text in chosen.items()
        ]
        yield ", ".join(words)


def _combinations(values: dict[str, list[str]], required: list[str]) -> Iterator[dict[str, str]]:
    if not all(values[name] for name in required):
        return
    base = {name: values[name][0] for name in required}
    yield base
    for number in range(1, max((len(texts) for texts in values.values()), default=0) + 1):
        for name, texts in values.items():
            if number < len(texts) or (name not in base and number == len(texts)):
                yield {**base, name: texts[number] if number < len(texts) else texts[0]}
        several = {n: values[n][number] for n in required if number < len(values[n])}
        if len(several) > 1:
            yield {**base, **several}


def _classes(subject: TargetFunction) -> dict[str, ast.ClassDef]:
    return {one.name: one for one in subject.source.tree.body if isinstance(one, ast.ClassDef)}
