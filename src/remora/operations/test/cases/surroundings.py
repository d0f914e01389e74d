"""Setup statements of a case that the test file already provides, as constants or fixtures."""

import ast
from collections.abc import Sequence

from msgspec.structs import replace

from remora.code.pytest_model.pytest_file import is_conftest
from remora.operations.test.cases.case import Case
from remora.operations.test.inputs.call_input import bound_names, free_names
from remora.operations.test.insert_location import InsertLocation
from remora.python_text import parse


def with_surroundings(case: Case, home: InsertLocation, tree: ast.Module | None) -> Case:
    """Return the case without the statements that the file `tree` provides.

    Its fixtures are only those that the test can have as parameters.
    """
    constants = {ast.unparse(one) for one in tree.body} if tree is not None else set[str]()
    setup = [one for one in case.setup if one not in constants]
    kept: list[tuple[str, ...]] = []
    for fixture in case.fixtures:
        rest = _without(setup, fixture[3:]) if _is_usable(fixture, home) else None
        if rest is not None:
            setup = rest
            kept.append(fixture)
    return replace(case, setup=tuple(setup), fixtures=tuple(kept))


def parameters_of(cases: Sequence[Case], *, typed: bool) -> str:
    """Return the source of the parameters of a test, which are fixtures."""
    found = {each[0]: each[2] for case in cases for each in case.fixtures}
    return ", ".join(f"{name}: {kind}" if typed else name for name, kind in found.items())


def _is_usable(fixture: Sequence[str], home: InsertLocation) -> bool:
    _, path, kind, *_ = fixture
    folder = path.rpartition("/")[0]
    is_near = path == home.path or (
        is_conftest(path) and f"{home.path}/".startswith(f"{folder}/" if folder else "")
    )
    return is_near and not home.base and home.form != "unittest" and bool(kind or not home.typed)


def _without(setup: Sequence[str], body: Sequence[str]) -> list[str] | None:
    """Return the other statements, or None if they need what only the body assigns."""
    rest = [one for one in setup if one not in body]
    inner = {name for one in body[:-1] for name in bound_names(parse(one).body[0])}
    needed = free_names([parse(one) for one in rest])
    return None if inner & needed else rest
