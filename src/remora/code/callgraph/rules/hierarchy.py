"""Rules for base classes, MROs, subclasses, and delegation to base classes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from remora.code.callgraph.abstract_values import CLASS, EMPTY, EXTERNAL, Value, Values, join
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.names.name_candidates import candidate_subclasses
from remora.code.callgraph.rules.points_to import evaluate
from remora.code.ir.model import DEFINITION, ITEM, has_tag

_MAX_SUBCLASSES = 400
_MAX_FILES: Final = 120
_PLAIN_BASES = frozenset(
    (
        *("builtins.object", "typing.Generic", "typing.Protocol", "abc.ABC"),
        "typing_extensions.Protocol",
    )
)


def mro(ctx: Context, path: str, scope: int) -> Values:
    """Return the class and its bases in method resolution order."""
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
    if (file := ctx.scope_file(path, scope)) is None:
        return EMPTY
    found = file.scopes[scope]
    point = ProgramPoint(0, path, found.parent, found.at)
    bases = join([evaluate(ctx, point, _without_subscript(base)) for base in found.bases])
    return tuple(pair for pair in bases if pair[0][0] in {CLASS, EXTERNAL})


def _without_subscript(base: Any) -> Any:
    """Return `Base` for `Base[int]`."""
    while has_tag(base, ITEM):
        base = base[1]
    return base


def derived(ctx: Context, path: str, scope: int) -> Values:
    """Return all direct and indirect subclasses of a class, or nothing if there are too many."""
    if (file := ctx.scope_file(path, scope)) is None:
        return EMPTY
    own: Value = (CLASS, path, scope)
    found: dict[Value, int] = {}
    found.update(_protocol_implementations(ctx, file, scope))
    for subclass in candidate_subclasses(ctx, file.scopes[scope].name):
        if any(base == own for base, _ in ctx.read(("bases", *subclass))):
            found[(CLASS, *subclass)] = 0
            found.update(ctx.read(("derived", *subclass)))
    return tuple(sorted(found.items())) if len(found) <= _MAX_SUBCLASSES else EMPTY


def _protocol_implementations(
    ctx: Context, file: IndexedFile, scope: int
) -> Iterator[tuple[Value, int]]:
    """Yield the classes that have all methods of a protocol."""
    bases = [v[1] for v, _ in ctx.read(("bases", file.path, scope)) if v[0] == EXTERNAL]
    methods = {name for name in file.scopes[scope].binds if not name.startswith("_")}
    if not methods or not any(base.endswith(".Protocol") for base in bases):
        return
    name = f"def {min(methods)}"
    paths = () if ctx.is_common(name, _MAX_FILES) else ctx.mentioning(name)
    for path in sorted(paths):
        if (other := ctx.file(path)) is None:
            continue
        for number in other.classes:
            value: Value = (CLASS, path, number)
            is_itself = value == (CLASS, file.path, scope)
            if not is_itself and methods <= other.scopes[number].binds.keys():
                yield value, 1


def project_mro(ctx: Context, value: Value) -> Iterator[tuple[IndexedFile, int]]:
    """Yield the file and scope number of each project class in the MRO of a class."""
    for base, _ in ctx.read(("mro", value[1], value[2])):
        file = ctx.scope_file(base[1], base[2]) if base[0] == CLASS else None
        if file is not None:
            yield file, base[2]


def has_external_base(ctx: Context, value: Value) -> bool:
    order = ctx.read(("mro", value[1], value[2]))
    return any(v[0] == EXTERNAL and v[1] not in _PLAIN_BASES for v, _ in order)


def is_enum(ctx: Context, value: Value) -> bool:
    order = ctx.read(("mro", value[1], value[2]))
    return any(v[0] == EXTERNAL and v[1].startswith("enum.") for v, _ in order)


def is_dataclass(file: IndexedFile, number: int) -> bool:
    """Return True if the constructor of a class is generated from its fields."""
    scope, calls = file.scopes[number], file.lowered.calls
    made_by = [calls[n].callee for n in scope.decorators]
    if any(key == "init" for n in made_by if isinstance(n, int) for key, _ in calls[n].keywords):
        return False  # `@dataclass(init=False)`
    decorators = file.decorator_names(number) & {"dataclass", "define", "frozen", "attrs", "s"}
    return bool(decorators) or any(file.term_name(base) == "NamedTuple" for base in scope.bases)


def delegates_to_base(ctx: Context, file: IndexedFile, number: int, method: str) -> bool:
    """Return True if a class inherits `method`, or overrides it and calls the base method."""
    binds = file.scopes[number].binds.get(method, ())
    if not (functions := {bind.term for bind in binds if bind.kind == DEFINITION}):
        return True
    ctx.file(file.path)  # the answer depends on the method bodies
    return any((function, method) in file.attribute_calls for function in functions)


_MAX_CLASSES = 256  # maximum length of an MRO; a chain of subclasses may have thousands of classes


def linearize(own: Value, orders: Sequence[list[Value]], bases: list[Value]) -> list[Value]:
    """Return `own` followed by the merged MROs of its bases.

    If the MROs conflict, which is an error in Python, the classes are in depth-first order.
    """
    if len(orders) == 1:
        return list(dict.fromkeys([own, *orders[0]]))[:_MAX_CLASSES]
    pending = [list(dict.fromkeys(order)) for order in (*orders, bases) if order]
    merged = [own]
    tails = Counter(value for order in pending for value in order[1:])
    positions = [0] * len(pending)
    while len(merged) < _MAX_CLASSES:
        heads = [order[at] for order, at in zip(pending, positions, strict=True) if at < len(order)]
        if not heads:
            break
        if (chosen := next((head for head in heads if not tails[head]), None)) is None:
            rest = (v for order, at in zip(pending, positions, strict=True) for v in order[at:])
            return list(dict.fromkeys([*merged, *rest]))[:_MAX_CLASSES]
        merged.append(chosen)
        for number, order in enumerate(pending):
            at = positions[number]
            if at < len(order) and order[at] == chosen:
                positions[number] += 1
                tails.subtract(order[at + 1 : at + 2])
    return merged
