"""Values that pytest passes to tests and fixtures."""

from collections.abc import Iterator

from remora.code.callgraph.abstract_values import EMPTY, Values, join, weaken
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.rules.points_to import evaluate
from remora.code.ir.model import DEFINITION, GENERATOR, TEXT, has_tag


def fixture_values(ctx: Context, level: int, file: IndexedFile, scope: int, name: str) -> Values:
    """Return the values that pytest passes for a parameter of a test or fixture."""
    function = file.scopes[scope]
    if not function.name.startswith("test") and not _is_fixture(file, scope):
        return EMPTY
    if parametrized := _parametrized_values(ctx, level, file, scope, name):
        return weaken(parametrized)
    for other, number in _fixtures(ctx, file, scope, name):
        rule = "yields" if other.scopes[number].flags & GENERATOR else "returns"
        return weaken(ctx.read((rule, level, other.path, number)))
    return EMPTY


def _is_fixture(file: IndexedFile, number: int) -> bool:
    return any(name.endswith("fixture") for name in file.decorator_names(number))


def _fixtures(
    ctx: Context, file: IndexedFile, scope: int, name: str
) -> Iterator[tuple[IndexedFile, int]]:
    """Yield the fixtures called `name`, nearest first.

    Fixtures are searched for in the class, the file, and the `conftest.py` of each parent folder.
    """
    folder = file.path
    parent = file.scopes[scope].parent
    local = {parent: _fixture_in_scope(file, parent, name), 0: _fixture_in_scope(file, 0, name)}
    for number in local.values():
        if number is not None and number != scope:
            yield file, number
    while folder:
        folder = folder.rpartition("/")[0]
        path = f"{folder}/conftest.py" if folder else "conftest.py"
        other = ctx.interface_file(path) if path != file.path else None
        found = _fixture_in_scope(other, 0, name) if other is not None else None
        if other is not None and found is not None:
            yield other, found


def _fixture_in_scope(file: IndexedFile, parent: int, name: str) -> int | None:
    for bind in file.scopes[parent].binds.get(name, ()):
        if bind.kind == DEFINITION and _is_fixture(file, bind.term):
            return int(bind.term)
    return None


def _parametrized_values(
    ctx: Context, level: int, file: IndexedFile, scope: int, name: str
) -> Values:
    """Return the values from `@pytest.mark.parametrize` decorators that set only this parameter."""
    function = file.scopes[scope]
    point = ProgramPoint(level, file.path, function.parent, function.at)
    found: list[Values] = []
    for number in function.decorators:
        decorator = file.lowered.calls[number].callee
        call = file.lowered.calls[decorator] if decorator.__class__ is int else None
        if call is None or len(call.args) < 2 or file.term_name(call.callee) != "parametrize":
            continue
        if has_tag(call.args[0], TEXT) and call.args[0][1] == name:
            sequences = evaluate(ctx, point, call.args[1])
            found.extend(ctx.read(("each", level, value)) for value, _ in sequences)
    return join(found)
