"""Which classes derive from which: their order of resolution, what they leave to their bases."""

from collections.abc import Iterator
from typing import Any, Final

from remora.code.callgraph.abstract_values import CLASS, EMPTY, EXTERNAL, Value, Values, join
from remora.code.callgraph.context import Context, Place
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.names.name_candidates import deriving
from remora.code.callgraph.rules.evaluation import evaluate
from remora.code.callgraph.rules.mro import linearize
from remora.code.ir.model import DEFINITION, ITEM

_MOST_DERIVED = 400
_MOST_FILES: Final = 120
_PLAIN_BASES = frozenset(
    (
        "builtins.object",
        "typing.Generic",
        "typing.Protocol",
        "abc.ABC",
        "typing_extensions.Protocol",
    )
)


def mro(ctx: Context, path: str, scope: int) -> Values:
    """Rule: the class and its bases, in the order in which attributes are looked up."""
    own: Value = (CLASS, path, scope)
    orders: list[list[Value]] = []
    bases: list[Value] = []
    for base, _ in ctx.read(("bases", path, scope)):
        if base == own:
            continue
        bases.append(base)
        known = [v for v, _ in ctx.read(("mro", *base[1:]))] if base[0] == CLASS else [base]
        orders.append(known or [base])
    return tuple((value, 0) for value in linearize(own, orders, bases))


def bases_of(ctx: Context, path: str, scope: int) -> Values:
    """Rule: what a class derives from directly."""
    file = ctx.around(path, scope)
    if file is None:
        return EMPTY
    found = file.scopes[scope]
    place = Place(0, path, found.parent, found.at)
    every = join([evaluate(ctx, place, _plain(base)) for base in found.bases])
    return tuple(pair for pair in every if pair[0][0] in {CLASS, EXTERNAL})


def _plain(base: Any) -> Any:
    """`Base` of `Base[int]`."""
    while isinstance(base, list | tuple) and base[0] == ITEM:
        base = base[1]
    return base


def derived(ctx: Context, path: str, scope: int) -> Values:
    """Rule: every class that derives from it, directly or not; nothing where they are too many."""
    file = ctx.around(path, scope)
    if file is None:
        return EMPTY
    own: Value = (CLASS, path, scope)
    found: dict[Value, int] = {}
    found.update(_conforming(ctx, file, scope))
    for place in deriving(ctx, file.scopes[scope].name):
        if any(base == own for base, _ in ctx.read(("bases", *place))):
            found[(CLASS, *place)] = 0
            found.update(ctx.read(("derived", *place)))
    return tuple(sorted(found.items())) if len(found) <= _MOST_DERIVED else EMPTY


def _conforming(ctx: Context, file: File, scope: int) -> Iterator[tuple[Value, int]]:
    """Classes that have all methods of a protocol."""
    bases = [v[1] for v, _ in ctx.read(("bases", file.path, scope)) if v[0] == EXTERNAL]
    methods = {name for name in file.scopes[scope].binds if not name.startswith("_")}
    if not methods or not any(base.endswith(".Protocol") for base in bases):
        return
    name = f"def {min(methods)}"
    paths = () if ctx.crowded(name, _MOST_FILES) else ctx.mentioning(name)
    for path in sorted(paths):
        other = ctx.file(path)
        for number in other.classes if other is not None else ():
            value: Value = (CLASS, path, number)
            if other is None or value == (CLASS, file.path, scope):
                continue
            if methods <= other.scopes[number].binds.keys():
                yield value, 1


def orders(ctx: Context, value: Value) -> Iterator[tuple[File, int]]:
    """The project's classes of a class's order, each with its file, to look at as `around` says."""
    for found, _ in ctx.read(("mro", value[1], value[2])):
        file = ctx.around(found[1], found[2]) if found[0] == CLASS else None
        if file is not None:
            yield file, found[2]


def is_foreign(ctx: Context, value: Value) -> bool:
    """Whether a class derives from one outside the project, which may have any attribute."""
    order = ctx.read(("mro", value[1], value[2]))
    return any(v[0] == EXTERNAL and v[1] not in _PLAIN_BASES for v, _ in order)


def is_dataclass(file: File, number: int) -> bool:
    """Whether the class gets its constructor from its fields."""
    scope = file.scopes[number]
    made = file.decorations(number) & {"dataclass", "define", "frozen", "attrs", "s"}
    return bool(made) or any(file.written(base) == "NamedTuple" for base in scope.bases)


def is_handed_up(ctx: Context, file: File, number: int, method: str, but: str = "") -> bool:
    """Whether a class leaves a method to its bases: has none, or one that calls theirs.

    With `but`, what theirs stores under that name must count: it is not stored anew afterwards.
    """
    binds = file.scopes[number].binds.get(method, ())
    functions = {bind.term for bind in binds if bind.kind == DEFINITION}
    if not functions:
        return True
    ctx.file(file.path)  # their bodies are looked at
    stores = [file.lowered.stores[n] for n in file.stores_by_name.get(but, ())]
    blocks = file.lowered.statements
    return any(
        call.scope in functions
        and not any(
            store.scope == call.scope and store.at > call.at and blocks[store.at] == blocks[call.at]
            for store in stores
        )
        for call in file.calls_on(method)
    )
