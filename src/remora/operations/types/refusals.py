"""Candidate types of pyrefly that are not proposed.

pyrefly reads `-> None` from a method that is there to be overridden, and `paths: list[str]` from
calls that happen to pass lists. Each rule names such a case, with the reason that users see.
"""

import ast
from typing import NamedTuple

from remora.code.syntax.effects import unqualified_name
from remora.code.syntax.spans import without_docstring
from remora.judges.rules import Rule
from remora.judges.types.project_index import Function, Parameter
from remora.judges.types.terms import arguments_of, head_of, members_of, names_of, without_none

_SAY_NOTHING = frozenset(("Any", "object", "Unknown", "Incomplete", "NoReturn", "TypeVar"))
_MOST_MEMBERS = 2
"""Types of a union (decision; measured below)."""
_READ_NO_TYPES = frozenset(
    ("property", "getter", "setter", "deleter", "staticmethod", "classmethod", "abstractmethod",
     "cache", "lru_cache", "cached_property", "wraps", "contextmanager", "asynccontextmanager",
     "overload", "final", "override", "fixture")
)  # fmt: skip
"""Decorators of the standard library and pytest that do not read annotations."""
_OF_CLASSES = frozenset(
    ("dataclass", "total_ordering", "runtime_checkable", "unique", "final", "define", "frozen", "s")
)
_OWNERS = frozenset(
    (
        "",
        "functools",
        "contextlib",
        "abc",
        "typing",
        "dataclasses",
        "enum",
        "pytest",
        "attr",
        "attrs",
    )
)
"""Modules of these decorators. `@app.cache` may be anything."""
DECORATED = "a decorator may read annotations when the program runs"
_CONTAINERS = frozenset(("list", "dict", "set", "tuple", "defaultdict", "OrderedDict"))


class Candidate(NamedTuple):
    """A type for a parameter of a function, or for its result if `parameter` is None."""

    function: Function
    parameter: Parameter | None
    term: str


def _says_nothing(candidate: Candidate) -> bool:
    return not _SAY_NOTHING.isdisjoint(names_of(candidate.term))


def _is_wide(candidate: Candidate) -> bool:
    """Return True for more than two types, also in a container, and for two that callers pass."""
    members = members_of(candidate.term)
    most = _MOST_MEMBERS if candidate.parameter is None or "None" in members else 1
    return len(members) > most or any(_has_mixed_items(member) for member in members)


def _has_mixed_items(term: str) -> bool:
    return any(
        len(members_of(without_none(argument))) > 1 or _has_mixed_items(argument)
        for argument in arguments_of(term)
    )


def _is_of_empty(candidate: Candidate) -> bool:
    """Return True for a function that does nothing, or only raises, so that others override it."""
    return candidate.parameter is None and all(
        isinstance(statement, ast.Pass | ast.Raise)
        or (isinstance(statement, ast.Expr | ast.Return) and _is_constant(statement.value))
        for statement in without_docstring(candidate.function.node.body)
    )


def _is_constant(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value in (None, ...))


def _is_private(function: Function) -> bool:
    return function.name.startswith("_") and not function.name.startswith("__")


def _is_checked_at_run_time(candidate: Candidate) -> bool:
    """Return True if the candidate is a single type and the function checks the parameter.

    It does so with `isinstance`.
    """
    parameter = candidate.parameter
    if parameter is None or len(members_of(candidate.term)) > 1:
        return False
    return any(
        isinstance(node, ast.Call)
        and ast.unparse(node).startswith(f"isinstance({parameter.name}, ")
        for node in ast.walk(candidate.function.node)
    )


def _is_container(candidate: Candidate) -> bool:
    """Return True for what callers of a public function happen to pass: others pass a Sequence."""
    heads = {head_of(member) for member in members_of(candidate.term)}
    is_public = candidate.parameter is not None and not _is_private(candidate.function)
    return is_public and not _CONTAINERS.isdisjoint(heads)


def may_read_annotations(function: Function) -> bool:
    """Return True if a decorator may read annotations at run time, as those of FastAPI do.

    That of a class may read those of its methods.
    """
    own = {function.name} | _OWNERS
    owner = function.owner.node.decorator_list if function.owner else ()
    pairs = [(_READ_NO_TYPES, function.node.decorator_list), (_OF_CLASSES, owner)]
    return any(
        unqualified_name(decorator) not in known or _module_of(decorator) not in own
        for known, decorators in pairs
        for decorator in decorators
    )


def _module_of(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called.value) if isinstance(called, ast.Attribute) else ""


RULES: tuple[Rule[Candidate], ...] = (
    Rule("nothing", "-> Any", "the type says nothing", "2 wrong", _says_nothing),
    Rule("wide", "int | str | bytes", "the union has more than two types", "12 wrong", _is_wide),
    Rule(
        "empty",
        "def run(self) -> None: ...",
        "the function is empty, to be overridden",
        "29 wrong, 3 right",
        _is_of_empty,
    ),
    Rule(
        "container",
        "def show(paths: list[str])",
        "the code may take other containers, too",
        "4 wrong, 1 right",
        _is_container,
    ),
    Rule(
        "tested",
        "def write(self, data: str): if isinstance(data, bytes): ...",
        "the code checks its type, so callers may pass others",
        "354 wrong, 46 right, in 17 annotated packages",
        _is_checked_at_run_time,
    ),
    Rule(
        "decorated",
        "@app.command() def show(path: str)",
        DECORATED,
        "none (decision: such a type changes what the program does)",
        lambda candidate: may_read_annotations(candidate.function),
    ),
)
"""`measured` is how many right and wrong types a rule refused, of nine packages if it names no others."""
