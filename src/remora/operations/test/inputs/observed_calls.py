"""Calls with the arguments that existing tests pass, and with slightly different arguments."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from remora.code.syntax.definitions import default_values
from remora.ids import escape_path, node_key
from remora.operations.test.inputs.call_input import CallInput, Source
from remora.operations.test.inputs.sample_values import values_of
from remora.operations.test.target_function import TargetFunction

_MOST_OBSERVED = 10
_MOST_VARIED = 30
_LONGEST = 160
_MOST_OF_OPTION = 2


def recorded_calls(subject: TargetFunction, observed: Mapping[str, Any]) -> list[CallInput]:
    """Return calls of the function that `remora hub observe` recorded while tests ran.

    `observed` contains the values of functions, by node key.
    """
    seen = observed.get(node_key(escape_path(subject.path), subject.qualname)) or {}
    return observed_calls(subject, list(seen.get("examples") or ()), vary=False)


def observed_calls(
    subject: TargetFunction, arguments: Sequence[Mapping[str, str]], *, vary: bool = True
) -> list[CallInput]:
    """Return calls with the observed arguments, and then with one argument changed if `vary`.

    Each item of `arguments` maps parameters to literals. Methods have none, because their object is
    unknown.
    """
    if "." in subject.qualname:
        return []
    seen = [each for each in arguments if _are_literals(each)][:_MOST_OBSERVED]
    found = [_call(subject, each) for each in seen]
    varied: dict[str, None] = {}
    for each in seen if vary else ():
        for name, text in each.items():
            for other in _variations(subject, name, text):
                varied[_call(subject, {**each, name: other})] = None
    source: Source = "test" if vary else "observed"
    calls: dict[str, Source] = dict.fromkeys(found, source)
    for call in list(varied)[:_MOST_VARIED]:
        calls.setdefault(call, "variation")
    return [CallInput(call=call, source=calls[call]) for call in calls if 0 < len(call) <= _LONGEST]


def variations_of(subject: TargetFunction, calls: Sequence[CallInput]) -> list[CallInput]:
    """Return the calls with one literal argument changed, and with an option more or less."""
    found: dict[tuple[str, tuple[str, ...]], CallInput] = {}
    for each in calls[:_MOST_OBSERVED]:
        call = ast.parse(each.call, mode="eval").body
        assert isinstance(call, ast.Call)
        names = [arg.arg for arg in (*subject.parameters.posonlyargs, *subject.parameters.args)]
        slots = [*zip(names[subject.implied :], range(len(call.args)), strict=False)]
        for made in (
            *_without_option(subject, call, names[subject.implied :]),
            *_with_option(subject, call, names[subject.implied :]),
        ):
            one = replace(each, call=ast.unparse(made), source="variation")
            found.setdefault((one.call, one.setup), one)
        for name, number in slots:
            for other in _literal_variations(subject, name, call.args[number]):
                made = ast.Call(call.func, [*call.args], call.keywords)
                made.args[number] = ast.parse(other, mode="eval").body
                one = replace(each, call=ast.unparse(made), source="variation")
                found.setdefault((one.call, one.setup), one)
    return [one for one in found.values() if len(one.call) <= _LONGEST][:_MOST_VARIED]


def _without_option(
    subject: TargetFunction, call: ast.Call, names: Sequence[str]
) -> Iterator[ast.Call]:
    """Yield the call without one of its options."""
    options = defaults_of(subject.parameters)
    for word in call.keywords:
        if word.arg in options:
            yield ast.Call(call.func, call.args, [one for one in call.keywords if one is not word])
    last = dict(enumerate(names, 1)).get(len(call.args))
    if last in options:
        yield ast.Call(call.func, call.args[:-1], call.keywords)


def _with_option(
    subject: TargetFunction, call: ast.Call, names: Sequence[str]
) -> Iterator[ast.Call]:
    """Yield the call with other values than the defaults, for options without a value."""
    given = {*names[: len(call.args)], *(word.arg for word in call.keywords)}
    for name, default in defaults_of(subject.parameters).items():
        if name not in given:
            for text in list(_variations(subject, name, ast.unparse(default)))[:_MOST_OF_OPTION]:
                word = ast.keyword(name, ast.parse(text, mode="eval").body)
                yield ast.Call(call.func, call.args, [*call.keywords, word])


def defaults_of(args: ast.arguments) -> dict[str, ast.expr]:
    """Return the literal defaults by parameter."""
    return {name: one for name, one in default_values(args) if isinstance(one, ast.Constant)}


def _literal_variations(subject: TargetFunction, name: str, given: ast.expr) -> list[str]:
    text = ast.unparse(given)
    return list(_variations(subject, name, text)) if _are_literals({name: text}) else []


def _are_literals(arguments: Mapping[str, str]) -> bool:
    try:
        for text in arguments.values():
            ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return False
    return True


def _call(subject: TargetFunction, given: Mapping[str, str]) -> str:
    """Return the call without arguments that are equal to their default, or an empty string.

    It is also empty if the default is a named constant and the value is another number, since the
    name of that number is not known.
    """
    args = subject.parameters
    constants = _constants(subject)
    if args.vararg or args.kwarg:
        return ""
    positional = [*args.posonlyargs, *args.args]
    defaults: dict[str, ast.expr | None] = dict(
        zip((arg.arg for arg in positional[::-1]), args.defaults[::-1], strict=False)
    )
    defaults |= {arg.arg: one for arg, one in zip(args.kwonlyargs, args.kw_defaults, strict=True)}
    words: list[str] = []
    by_place = True
    for arg in (*positional, *args.kwonlyargs):
        default = defaults.get(arg.arg)
        if arg.arg not in given:
            return ""
        if isinstance(default, ast.Name | ast.Attribute):
            default = constants.get(ast.unparse(default), default)
            if ast.unparse(default) != given[arg.arg] and _is_number(given[arg.arg]):
                return ""
        if default is not None and ast.unparse(default) == given[arg.arg]:
            by_place = False
            continue
        plain = by_place and default is None and arg not in args.kwonlyargs
        words.append(given[arg.arg] if plain else f"{arg.arg}={given[arg.arg]}")
    return f"{subject.qualname}({', '.join(words)})"


def _is_number(text: str) -> bool:
    return isinstance(ast.literal_eval(text), int | float)


def _variations(subject: TargetFunction, name: str, text: str) -> Iterator[str]:
    """Yield other values of a parameter: near numbers, and values that the function knows."""
    value = ast.literal_eval(text)
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int):
        yield from map(str, dict.fromkeys((value + 1, value - 1, 0, 1)))
    elif isinstance(value, list | tuple) and value:
        yield repr(value[:0])
        yield from (repr(value[:1]), repr(value[::-1])) if len(value) > 1 else ()
        yield repr(type(value)([*value, value[-1]]))
    elif isinstance(value, dict) and value:
        yield "{}"
        yield repr(dict([*value.items()][1:]))
    elif isinstance(value, str) and value:
        yield from (repr(value.upper()), "''")
    args = subject.parameters
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if arg.arg == name:
            constants = _constants(subject)
            found = values_of(
                arg, ast.parse(text, mode="eval").body, subject.function, {}, constants
            )
            yield from found[:4]


def _constants(subject: TargetFunction) -> dict[str, ast.expr]:
    return {
        one.targets[0].id: one.value
        for one in subject.source.tree.body
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    }
