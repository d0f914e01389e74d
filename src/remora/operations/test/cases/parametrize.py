"""Parametrized tests. Similar cases become rows, and arguments that differ become columns."""

import ast
import builtins
from collections.abc import Sequence
from typing import NamedTuple

from remora.code.syntax.definitions import default_values
from remora.code.syntax.source import parse_text
from remora.operations.test.cases.assertions import expected_value, with_quotes
from remora.operations.test.cases.case import Case
from remora.operations.test.inputs.call_input import is_call_of
from remora.operations.test.insert_location import InsertLocation
from remora.operations.test.target_function import TargetFunction
from remora.python_text import literal

MOST_COLUMNS = 3
_RESERVED_NAMES = frozenset({"expected", "request", "pytest", *dir(builtins)})


class Table(NamedTuple):
    """The table of a parametrized test.

    `columns` contains the parameter names. `types` contains the types of the parameters and of the
    expected value, which is the last item of each row. `claim` is the assertion that all rows
    share.
    """

    columns: list[str]
    types: list[str]
    rows: list[str]
    claim: str


class _ParsedCall(NamedTuple):
    """The arguments of a call, keyed by parameter.

    `by_place` contains the positional parameters.
    """

    given: dict[str, str]
    by_place: frozenset[str]
    function: str


def table_of(
    subject: TargetFunction, cases: Sequence[Case], home: InsertLocation, width: int
) -> Table | None:
    """Return a table of the cases, or None if the calls are not similar enough."""
    calls = [_parse_call(subject, case) for case in cases]
    made = [call for call in calls if call is not None]
    if any(case.setup or case.claims for case in cases):
        return None
    defaults = _defaults(subject)
    if not made or len(made) < len(cases) or len({call.function for call in made}) > 1:
        return None
    columns = [n for n in _names(subject) if any(n in call.given for call in made)]
    missing = {name for name in columns for call in made if name not in call.given}
    if (
        not 0 < len(columns) <= MOST_COLUMNS
        or not missing <= defaults.keys()
        or len({case.listed for case in cases}) > 1
        or not _RESERVED_NAMES.isdisjoint(columns)
        or made[0].function.partition("(")[0].partition(".")[0] in columns
    ):
        return None
    words = _call_arguments(columns, made, set(_positional(subject)))
    call = f"{made[0].function}({', '.join(words)})"
    call = with_quotes(f"list({call})" if cases[0].listed else call, home.quote)
    same = {case.value for case in cases} <= {"True", "False", "None"}
    claim = f"assert {call} {'is' if same else '=='} expected"
    cells = [[call.given.get(n, defaults.get(n, "")) for n in columns] for call in made]
    expected = [expected_value(case.value) for case in cases]
    rows = [
        with_quotes(f"({', '.join([*each, value])})", home.quote)
        for each, value in zip(cells, expected, strict=True)
    ]
    types = [_type(list(column)) for column in zip(*cells, strict=True)]
    types.append(_type([case.value for case in cases]))
    if len(claim) + 4 > width or (home.typed and "" in types):
        return None
    if any(len(row) + 9 > width for row in rows):
        return None
    return Table(columns, types, list(dict.fromkeys(rows)), claim)


def _parse_call(subject: TargetFunction, case: Case) -> _ParsedCall | None:
    tree = parse_text(case.call)
    one = tree.body[0] if isinstance(tree, ast.Module) and tree.body else None
    if not isinstance(one, ast.Expr) or not isinstance(one.value, ast.Call):
        return None
    call, names = one.value, _positional(subject)
    if not is_call_of(subject.function.name, call):
        return None
    if len(call.args) > len(names) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    placed = {name: ast.unparse(arg) for name, arg in zip(names, call.args, strict=False)}
    named = {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg}
    if len(named) < len(call.keywords) or not named.keys() <= set(_names(subject)):
        return None
    return _ParsedCall(placed | named, frozenset(placed), ast.unparse(call.func))


def _call_arguments(
    columns: Sequence[str], calls: Sequence[_ParsedCall], positional: set[str]
) -> list[str]:
    """Return the arguments of the call in the parametrized test.

    Arguments are positional up to the first argument that any of the calls passes by keyword.
    """
    words: list[str] = []
    by_place = True
    for name in columns:
        named = any(name in call.given and name not in call.by_place for call in calls)
        by_place = by_place and name in positional and not named
        words.append(name if by_place else f"{name}={name}")
    return words


def _positional(subject: TargetFunction) -> list[str]:
    args = subject.parameters
    return [arg.arg for arg in (*args.posonlyargs, *args.args)][subject.implied :]


def _names(subject: TargetFunction) -> list[str]:
    return [*_positional(subject), *(arg.arg for arg in subject.parameters.kwonlyargs)]


def _defaults(subject: TargetFunction) -> dict[str, str]:
    pairs = default_values(subject.parameters)
    return {name: ast.unparse(one) for name, one in pairs if isinstance(one, ast.Constant)}


def _type(texts: list[str]) -> str:
    """Return the built-in type of the literals, or an empty string if their types differ."""
    found = {type(_value(text)).__name__ for text in texts}
    if found == {"int", "float"}:
        return "float"
    (only,) = found if len(found) == 1 else ("",)
    return only if only in ("int", "str", "float", "bool", "bytes") else ""


def _value(text: str) -> object:
    try:
        return literal(text)
    except (ValueError, SyntaxError):
        return object()
