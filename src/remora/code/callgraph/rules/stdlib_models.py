"""What is known of the outside: the few functions of the standard library that hand values on."""

from collections.abc import Callable
from typing import Any

from remora.code.callgraph.abstract_values import (
    BUILT,
    EMPTY,
    EXTERNAL,
    INSTANCE,
    METHOD,
    OPAQUE,
    OWN_CLASS,
    PAIR,
    PARTIAL,
    PROPERTY,
    SUPER,
    WRAPS,
    Value,
    Values,
    join,
    one,
)
from remora.code.callgraph.context import Context
from remora.code.callgraph.rules.evaluation import awaited, member_values
from remora.code.ir.model import SCOPE, TEXT

Site = tuple[str, int]

_BUILDERS = frozenset(
    [
        "builtins.list",
        "builtins.tuple",
        "builtins.set",
        "builtins.frozenset",
        "builtins.dict",
        "builtins.sorted",
        "builtins.reversed",
        "builtins.iter",
        "builtins.enumerate",
        "builtins.zip",
        "builtins.map",
        "builtins.filter",
        "collections.deque",
        "collections.defaultdict",
        "collections.OrderedDict",
        "collections.ChainMap",
        "itertools.chain",
        "itertools.cycle",
        "itertools.islice",
        "weakref.WeakKeyDictionary",
        "weakref.WeakValueDictionary",
        "weakref.WeakSet",
    ]
)
_KEEPERS = frozenset(
    [
        "functools.lru_cache",
        "functools.cache",
        "builtins.staticmethod",
        "builtins.classmethod",
        "copy.copy",
        "copy.deepcopy",
        "typing.cast",
        "asyncio.create_task",
        "asyncio.ensure_future",
        "asyncio.shield",
        "contextlib.contextmanager",
        "contextlib.asynccontextmanager",
        "functools.singledispatch",
        "typing.final",
        "typing.no_type_check",
        "abc.abstractmethod",
    ]
)
_WAITERS = frozenset(("asyncio.run", "asyncio.wait_for", "anyio.run"))
_PICKERS = frozenset(("builtins.next", "builtins.min", "builtins.max", "random.choice"))
_GIVERS = frozenset(("get", "pop", "setdefault", "popleft", "popitem", "__getitem__", "__next__"))
_VIEWS = frozenset(("values", "copy", "__iter__", "fromkeys"))


def foreign_result(ctx: Context, level: int, value: Value, site: Site) -> Values:
    """What calling something that is no code of the project gives."""
    if value[0] == METHOD:
        return _method(ctx, level, value, site)
    if value[0] == EXTERNAL:
        return _function(ctx, level, value[1], site)
    return one(OPAQUE) if value[0] == OPAQUE else EMPTY


def _function(ctx: Context, level: int, name: str, site: Site) -> Values:
    known = _KNOWN.get(name)
    found = one(OPAQUE, name)
    if name in _BUILDERS:
        found = one(BUILT, *site)
    elif known is not None:
        found = known(ctx, level, site)
    elif name in _KEEPERS:
        found = _kept(ctx, level, name, site)
    elif name in _PICKERS:
        held = _argument(ctx, level, site, 0)
        found = join([ctx.read(("each", level, v)) for v, _ in held])
    elif name in _WAITERS:
        found = awaited(ctx, level, _argument(ctx, level, site, 0))
    return found


def _kept(ctx: Context, level: int, name: str, site: Site) -> Values:
    """What it was given; called without anything to keep, it waits for that."""
    file = ctx.file(site[0])
    if file is None or not file.lowered.calls[site[1]].args:
        return one(WRAPS)
    if name == "builtins.staticmethod" and not _is_definition(file.lowered.calls[site[1]].args[0]):
        return one(PARTIAL, *site)  # of what a class makes an attribute, and does not bind
    return _argument(ctx, level, site, 1 if name == "typing.cast" else 0)


def _is_definition(term: Any) -> bool:
    return isinstance(term, list | tuple) and term[0] == SCOPE


def _method(ctx: Context, level: int, value: Value, site: Site) -> Values:
    _, container, name = value
    if name in _GIVERS:
        default = _argument(ctx, level, site, 1)
        return join((ctx.read(("item", level, container, _key(ctx, site))), default))
    if name in _VIEWS:
        return one(*container)
    if name == "items":
        return one(PAIR, container)
    return one(OPAQUE)


def _key(ctx: Context, site: Site) -> str | None:
    """The constant string by which a container is asked."""
    file = ctx.file(site[0])
    args = file.lowered.calls[site[1]].args if file is not None else ()
    return args[0][1] if args and _is_text(args[0]) else None


def _is_text(term: Any) -> bool:
    return isinstance(term, list | tuple) and term[0] == TEXT


def _import(ctx: Context, _level: int, site: Site) -> Values:
    named = _key(ctx, site)
    module = None if named is None else ctx.imported(site[0], 0, named)
    return one(OPAQUE) if module is None else ((module, 0),)


def _argument(ctx: Context, level: int, site: Site, index: int) -> Values:
    return ctx.read(("argument", level, *site, index))


def _super(ctx: Context, _level: int, site: Site) -> Values:
    file = ctx.file(site[0])
    if file is None:
        return EMPTY
    scope = file.lowered.calls[site[1]].scope
    method = file.method_around(scope)
    if method is None:
        return EMPTY
    found = file.scopes[method]
    of_type = "classmethod" in file.decorations(method) or found.name in {
        "__new__",
        "__init_subclass__",
    }
    return one(SUPER, site[0], found.parent, OWN_CLASS if of_type else INSTANCE)


def _type(ctx: Context, _level: int, site: Site) -> Values:
    """`type(self)`; of anything else it is not followed."""
    file = ctx.file(site[0])
    if file is None:
        return EMPTY
    call = file.lowered.calls[site[1]]
    owner = file.class_of_self(call.scope, call.args[0]) if call.args else None
    return one(OPAQUE) if owner is None else one(OWN_CLASS, file.path, owner)


def _getattr(ctx: Context, level: int, site: Site) -> Values:
    file = ctx.file(site[0])
    args = file.lowered.calls[site[1]].args if file is not None else ()
    if len(args) > 1 and _is_text(args[1]):
        return member_values(ctx, level, _argument(ctx, level, site, 0), args[1][1])
    return EMPTY


def _partial(_ctx: Context, _level: int, site: Site) -> Values:
    return one(PARTIAL, *site)


def _property(_ctx: Context, _level: int, site: Site) -> Values:
    return one(PROPERTY, *site)


def _wraps(_ctx: Context, _level: int, _site: Site) -> Values:
    return one(WRAPS)


_KNOWN: dict[str, Callable[[Context, int, Site], Values]] = {
    "builtins.super": _super,
    "builtins.type": _type,
    "builtins.getattr": _getattr,
    "builtins.property": _property,
    "importlib.import_module": _import,
    "functools.partial": _partial,
    "functools.partialmethod": _partial,
    "functools.wraps": _wraps,
}
