"""What pytest gives the parameters of tests and fixtures: what fixtures make, what marks list."""

from collections.abc import Iterator
from typing import Any

from remora.code.callgraph.abstract_values import EMPTY, Values, join, weaken
from remora.code.callgraph.context import Context, Place
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.rules.evaluation import evaluate
from remora.code.ir.model import DEFINITION, GENERATOR, TEXT


def handed(ctx: Context, level: int, file: File, scope: int, name: str) -> Values:
    """What the parameter `name` gets, if the function is one that pytest calls."""
    function = file.scopes[scope]
    if not function.name.startswith("test") and not _is_fixture(file, scope):
        return EMPTY
    listed = _listed(ctx, level, file, scope, name)
    if listed:
        return weaken(listed)
    for other, number in _fixtures(ctx, file, scope, name):
        rule = "yields" if other.scopes[number].flags & GENERATOR else "returns"
        return weaken(ctx.read((rule, level, other.path, number)))
    return EMPTY


def _is_fixture(file: File, number: int) -> bool:
    return any(name.endswith("fixture") for name in file.decorations(number))


def _fixtures(ctx: Context, file: File, scope: int, name: str) -> Iterator[tuple[File, int]]:
    """Fixtures of that name, the nearest first: of the class, the file, the folders around."""
    folder = file.path
    within = file.scopes[scope].parent
    own = {within: _named(file, within, name), 0: _named(file, 0, name)}
    for number in own.values():
        if number is not None and number != scope:
            yield file, number
    while folder:
        folder = folder.rpartition("/")[0]
        path = f"{folder}/conftest.py" if folder else "conftest.py"
        other = ctx.surface(path) if path != file.path else None
        found = _named(other, 0, name) if other is not None else None
        if other is not None and found is not None:
            yield other, found


def _named(file: File, parent: int, name: str) -> int | None:
    for bind in file.scopes[parent].binds.get(name, ()):
        if bind.kind == DEFINITION and _is_fixture(file, bind.term):
            return int(bind.term)
    return None


def _listed(ctx: Context, level: int, file: File, scope: int, name: str) -> Values:
    """What `@pytest.mark.parametrize` lists for the parameter alone."""
    function = file.scopes[scope]
    place = Place(level, file.path, function.parent, function.at)
    found: list[Values] = []
    for number in function.decorators:
        made = file.lowered.calls[number].callee
        call = file.lowered.calls[made] if made.__class__ is int else None
        if call is None or len(call.args) < 2 or file.written(call.callee) != "parametrize":
            continue
        if _is_text(call.args[0], name):
            held = evaluate(ctx, place, call.args[1])
            found.extend(ctx.read(("each", level, value)) for value, _ in held)
    return join(found)


def _is_text(term: Any, text: str) -> bool:
    return isinstance(term, list | tuple) and term[0] == TEXT and term[1] == text
