"""Fixtures for the preparation that several tests of a new file have in common."""

import ast
import builtins
import keyword
from collections.abc import Collection, Iterator, Sequence

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.import_edits import Imported, ImportStyle, import_edits, imported_names
from remora.code.edit.parsed_text import ParsedText
from remora.operations.test.class_style import snake_case
from remora.operations.test.inputs.call_input import bound_names, free_names, last_name

_PYTEST = Imported("pytest", "", "pytest")
_MIN_STATEMENTS = 3
_SHORT_NAME = 2
"""Length of names that say too little for a fixture."""


def fixtures_in(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the functions of a file that are decorated with `pytest.fixture` only, by name."""
    return {
        one.name: one
        for one in tree.body
        if isinstance(one, ast.FunctionDef)
        and [ast.unparse(each) for each in one.decorator_list] == ["pytest.fixture"]
    }


def with_fixture(text: str, width: int) -> str:
    """Return the source with a fixture for the statements with which several tests begin.

    They must prepare one object that these tests use, of a known class if the tests are annotated.
    The source stays as it is otherwise.
    """
    source = ParsedText(text)
    tests = [one for one in source.tree.body if isinstance(one, ast.FunctionDef)]
    group, size = _largest_group([one for one in tests if _is_plain(one)])
    group = [one for one in group if _objects(one, size)]
    objects = {name for one in group for name in _objects(one, size)}
    if len(objects) != 1 or len(group) == 1:
        return text
    (variable,) = objects
    made = group[0].body[:size]
    name = _fixture_name(made, variable)
    taken = {each.id for each in ast.walk(source.tree) if isinstance(each, ast.Name)} - {variable}
    imported = {each.bound for each in imported_names(source.tree)}
    taken |= {each.name for each in tests} | imported
    is_annotated = group[0].returns is not None
    owner = _class_of(made, variable) if is_annotated else ""
    if name in taken or _is_reserved(name) or (is_annotated and not owner):
        return text
    if _is_bound_again(group, size, variable):
        return text
    body = text[source.start_of_line(made[0].lineno) : source.end(made[-1])]
    returns = f" -> {owner}" if owner else ""
    head = f"@pytest.fixture\ndef {name}(){returns}:\n{body}\n    return {variable}\n\n\n"
    edits = [Edit(source.start(group[0]), source.start(group[0]), head)]
    for one in group:
        start, end = source.start(one), source.start(one.body[size])
        parameter, result = (f"{name}: {owner}", " -> None") if owner else (name, "")
        edits.append(Edit(start, end, f"def {one.name}({parameter}){result}:\n    "))
        edits += _renamed(source, one.body[size:], variable, name)
    style = ImportStyle(width, frozenset())
    if "pytest" not in imported:
        edits += import_edits(source, [_PYTEST], style)
    return apply_edits(text, edits)


def _is_plain(one: ast.FunctionDef) -> bool:
    """Return True for a test without parameters and decorators."""
    return one.name.startswith("test") and not one.decorator_list and not one.args.args


def _largest_group(tests: Sequence[ast.FunctionDef]) -> tuple[list[ast.FunctionDef], int]:
    """Return tests that begin with the same statements, and how many of these there are."""
    groups: dict[tuple[str, ...], list[ast.FunctionDef]] = {}
    for one in tests:
        texts = tuple(map(ast.unparse, _preparation(one)))
        for size in range(_MIN_STATEMENTS, len(texts) + 1):
            groups.setdefault(texts[:size], []).append(one)
    shared = {texts: found for texts, found in groups.items() if len(found) > 1}
    best = max(shared, key=lambda texts: (len(shared[texts]), len(texts)), default=())
    found, size = shared.get(best, []), len(best)
    if found and all(_is_tested(one, size - 1) for one in found):
        size -= 1
    return (found, size) if size >= _MIN_STATEMENTS else ([], 0)


def _is_tested(one: ast.FunctionDef, number: int) -> bool:
    """Return True for a call whose effects the next statement asserts."""
    call, following = one.body[number : number + 2]
    return isinstance(call, ast.Expr) and isinstance(following, ast.Assert)


def _preparation(one: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield the statements before the first assertion, but never the last of the test."""
    for each in one.body[:-1]:
        if not isinstance(each, ast.Assign | ast.AugAssign | ast.Expr):
            return
        yield each


def _objects(one: ast.FunctionDef, size: int) -> set[str]:
    """Return the names from the first statements of a test that the others use."""
    made = {name for each in one.body[:size] for name in bound_names(each)}
    return made & free_names(one.body[size:])


def _fixture_name(made: Sequence[ast.stmt], variable: str) -> str:
    """Return the name of the variable, or of its class if the variable's name is short."""
    name = snake_case(_class_of(made, variable).rpartition(".")[2])
    is_free = bool(name) and not _is_reserved(name)
    return name if is_free and len(variable) <= _SHORT_NAME else variable


def _is_reserved(name: str) -> bool:
    """Return True for names that no fixture can have, and for builtins, which it would hide."""
    is_known = keyword.iskeyword(name) or hasattr(builtins, name)
    return is_known or name == "request" or name.startswith("test")


def _class_of(made: Sequence[ast.stmt], variable: str) -> str:
    """Return the class that the variable is made with, or an empty string."""
    function = _made_by(made, variable)
    is_class = function is not None and last_name(function)[:1].isupper()
    return ast.unparse(function) if function is not None and is_class else ""


def _made_by(made: Sequence[ast.stmt], variable: str) -> ast.expr | None:
    """Return the function or the class whose call gives the variable its last value."""
    match [one for one in made if variable in bound_names(one)]:
        case [*_, ast.Assign(targets=[ast.Name()], value=ast.Call(func=function))]:
            return function
    return None


def _is_bound_again(tests: Collection[ast.FunctionDef], size: int, variable: str) -> bool:
    """Return True if the tests assign the variable again or have a parameter of this name."""
    rest = [each for one in tests for each in one.body[size:]]
    parameters = [part for each in rest for part in ast.walk(each) if isinstance(part, ast.arg)]
    return any(variable in bound_names(each) for each in rest) or any(
        each.arg == variable for each in parameters
    )


def _renamed(
    source: ParsedText, statements: Sequence[ast.stmt], variable: str, name: str
) -> Iterator[Edit]:
    for each in (part for statement in statements for part in ast.walk(statement)):
        if isinstance(each, ast.Name) and each.id == variable:
            yield Edit(source.start(each), source.end(each), name)
