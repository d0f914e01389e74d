"""Models of standard library functions whose result is, wraps or contains an argument."""

from collections.abc import Callable

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EMPTY, Value, Values, exact_value, join
from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.rules.points_to import await_values, member_values
from remora.code.ir.model import SCOPE, TEXT, has_tag

Site = tuple[str, int]

_CONTAINER_BUILDERS = frozenset(
    (
        *("builtins.list", "builtins.tuple", "builtins.set", "builtins.frozenset"),
        *("builtins.dict", "builtins.sorted", "builtins.reversed", "builtins.iter"),
        *("builtins.enumerate", "builtins.zip", "builtins.map", "builtins.filter"),
        *("collections.deque", "collections.defaultdict", "collections.OrderedDict"),
        *("collections.ChainMap", "itertools.chain", "itertools.cycle", "itertools.islice"),
        *("weakref.WeakKeyDictionary", "weakref.WeakValueDictionary", "weakref.WeakSet"),
    )
)
_IDENTITY_FUNCTIONS = frozenset(
    (
        *("functools.lru_cache", "functools.cache", "builtins.staticmethod"),
        *("builtins.classmethod", "copy.copy", "copy.deepcopy", "typing.cast"),
        *("asyncio.create_task", "asyncio.ensure_future", "asyncio.shield"),
        *("contextlib.contextmanager", "contextlib.asynccontextmanager"),
        *("functools.singledispatch", "typing.final", "typing.no_type_check"),
        "abc.abstractmethod",
    )
)
_AWAITING_FUNCTIONS = frozenset(("asyncio.run", "asyncio.wait_for", "anyio.run"))
_ELEMENT_PICKERS = frozenset(("builtins.next", "builtins.min", "builtins.max", "random.choice"))
_ITEM_METHODS = frozenset(
    ("get", "pop", "setdefault", "popleft", "popitem", "__getitem__", "__next__")
)
_VIEW_METHODS = frozenset(("values", "copy", "__iter__", "fromkeys"))


def external_result(ctx: Context, level: int, value: Value, site: Site) -> Values:
    """Return the result of a call to external code."""
    if value[0] == kinds.CONTAINER_METHOD:
        return _method(ctx, level, value, site)
    if value[0] == kinds.EXTERNAL:
        return _function(ctx, level, value[1], site)
    return exact_value(kinds.OPAQUE) if value[0] == kinds.OPAQUE else EMPTY


def _function(ctx: Context, level: int, name: str, site: Site) -> Values:
    known = _MODELS.get(name)
    found = exact_value(kinds.OPAQUE, name)
    if name in _CONTAINER_BUILDERS:
        found = exact_value(kinds.BUILT_CONTAINER, *site)
    elif known is not None:
        found = known(ctx, level, site)
    elif name in _IDENTITY_FUNCTIONS:
        found = _identity_result(ctx, level, name, site)
    elif name in _ELEMENT_PICKERS:
        iterables = _argument(ctx, level, site, 0)
        found = join([ctx.read(("each", level, v)) for v, _ in iterables])
    elif name in _AWAITING_FUNCTIONS:
        found = await_values(ctx, level, _argument(ctx, level, site, 0))
    return found


def _identity_result(ctx: Context, level: int, name: str, site: Site) -> Values:
    """Return the argument of the call, or IDENTITY if it has no arguments, as in `@lru_cache()`."""
    file = ctx.file(site[0])
    if file is None or not file.lowered.calls[site[1]].args:
        return exact_value(kinds.IDENTITY)
    if name == "builtins.staticmethod" and not has_tag(file.lowered.calls[site[1]].args[0], SCOPE):
        return exact_value(
            kinds.PARTIAL, *site
        )  # a class attribute with this function stays unbound
    return _argument(ctx, level, site, 1 if name == "typing.cast" else 0)


def _method(ctx: Context, level: int, value: Value, site: Site) -> Values:
    _, container, name = value
    if name in _ITEM_METHODS:
        default = _argument(ctx, level, site, 1)
        return join((ctx.read(("item", level, container, _key(ctx, site))), default))
    if name in _VIEW_METHODS:
        return exact_value(*container)
    return exact_value(kinds.PAIR, container) if name == "items" else exact_value(kinds.OPAQUE)


def _key(ctx: Context, site: Site) -> str | None:
    """Return the first argument if it is a constant string, otherwise None."""
    file = ctx.file(site[0])
    args = file.lowered.calls[site[1]].args if file is not None else ()
    return args[0][1] if args and has_tag(args[0], TEXT) else None


def _import(ctx: Context, _level: int, site: Site) -> Values:
    dotted = _key(ctx, site)
    module = None if dotted is None else ctx.resolve_import(site[0], 0, dotted)
    return exact_value(kinds.OPAQUE) if module is None else ((module, 0),)


def _argument(ctx: Context, level: int, site: Site, index: int) -> Values:
    return ctx.read(("argument", level, *site, index))


def _super(ctx: Context, level: int, site: Site) -> Values:
    """Return `super()` in a method, or `super(B, self)`, which begins behind `B`."""
    if (file := ctx.file(site[0])) is None:
        return EMPTY
    call = file.lowered.calls[site[1]]
    if (method := file.enclosing_method(call.scope)) is None:
        return EMPTY
    owner = (site[0], file.scopes[method].parent)
    receiver = (kinds.OWN_CLASS if file.takes_class(method) else kinds.INSTANCE, *owner)
    starts = _argument(ctx, level, site, 0) if call.args else ((receiver, 0),)
    found = [
        exact_value(kinds.SUPER, (kinds.CLASS, *value[1:]), receiver, file.scopes[method].name)
        for value, _ in starts
        if value[0] in {kinds.CLASS, kinds.OWN_CLASS, kinds.INSTANCE}
    ]
    return join(found) or exact_value(kinds.OPAQUE)


def _type(ctx: Context, _level: int, site: Site) -> Values:
    """Return the class of `self` for `type(self)`, or OPAQUE for any other argument."""
    if (file := ctx.file(site[0])) is None:
        return EMPTY
    call = file.lowered.calls[site[1]]
    owner = file.class_of_self(call.scope, call.args[0]) if call.args else None
    known = (kinds.OPAQUE,) if owner is None else (kinds.OWN_CLASS, file.path, owner)
    return exact_value(*known)


def _getattr(ctx: Context, level: int, site: Site) -> Values:
    file = ctx.file(site[0])
    args = file.lowered.calls[site[1]].args if file is not None else ()
    receivers = _argument(ctx, level, site, 0)
    name = args[1][1] if len(args) > 1 and has_tag(args[1], TEXT) else ""
    if name and (found := member_values(ctx, level, receivers, name)):
        return found
    names = [value for value, _ in _argument(ctx, level, site, 1) if value[0] == kinds.OPAQUE]
    beginnings = [name[2] for name in names if name[2:]]
    methods = [(kinds.DISPATCHED, owner, name) for name in beginnings for owner, _ in receivers]
    defaults = [value for value, _ in _argument(ctx, level, site, 2)]
    return tuple((value, kinds.POSSIBLE) for value in (*methods, *defaults))


_MODELS: dict[str, Callable[[Context, int, Site], Values]] = {
    "builtins.super": _super,
    "builtins.type": _type,
    "builtins.getattr": _getattr,
    "builtins.property": lambda _ctx, _level, site: exact_value(kinds.PROPERTY, *site),
    "importlib.import_module": _import,
    "functools.partial": lambda _ctx, _level, site: exact_value(kinds.PARTIAL, *site),
    "functools.partialmethod": lambda _ctx, _level, site: exact_value(kinds.PARTIAL, *site),
    "functools.wraps": lambda _ctx, _level, _site: exact_value(kinds.IDENTITY),
}
