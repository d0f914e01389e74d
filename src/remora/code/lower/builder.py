"""What is gathered while a file is lowered."""

from typing import Any

from remora.code.lowered import (
    FUNCTION_SCOPE,
    GENERATOR,
    MODULE_SCOPE,
    Bind,
    Block,
    Call,
    Container,
    Fill,
    Lowered,
    Parameter,
    Read,
    Scope,
    Store,
)
from remora.ids import MODULE


class OpenScope:
    """A scope under construction."""

    __slots__ = (
        "annotation",
        "at",
        "bases",
        "binds",
        "decorators",
        "flags",
        "index",
        "kind",
        "line",
        "name",
        "outer",
        "params",
        "parent",
        "points",
        "qualname",
        "results",
        "yields",
    )

    def __init__(self, kind: int, name: str, qualname: str, index: int) -> None:
        self.kind = kind
        self.name = name
        self.qualname = qualname
        self.index = index
        self.parent: OpenScope | None = None
        self.at = 0
        self.line = 0
        self.flags = 0
        self.points = 0
        self.params: list[Parameter] = []
        self.decorators: list[int] = []
        self.annotation: Any = None
        self.bases: list[Any] = []
        self.binds: dict[str, list[Bind]] = {}
        self.outer: dict[str, OpenScope] = {}
        self.results: list[tuple[int, Any]] = []
        self.yields: list[tuple[int, Any]] = []

    def owner_of(self, name: str) -> "OpenScope":
        """Where a nonlocal `name` lives: the nearest function around that knows it."""
        around = self.parent
        while around is not None:
            known = name in around.binds or any(p.name == name for p in around.params)
            if around.kind == FUNCTION_SCOPE and known:
                return around
            around = around.parent
        return self

    def close(self) -> Scope:
        """As it is stored."""
        return Scope(
            self.kind,
            self.name,
            self.qualname,
            self.parent.index if self.parent is not None else -1,
            self.at,
            self.line,
            self.flags | (GENERATOR if self.yields else 0),
            tuple(self.params),
            tuple(self.decorators),
            self.annotation,
            tuple(self.bases),
            {name: tuple(binds) for name, binds in self.binds.items()} if self.binds else {},
            tuple(sorted(self.outer)) if self.outer else (),
            tuple(self.results),
            tuple(self.yields),
        )


class Builder:
    """One file under construction, and where in it the pass stands."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.names: set[str] = set()
        self.scopes: list[OpenScope] = []
        self.calls: list[Call] = []
        self.reads: list[Read] = []
        self.stores: list[Store] = []
        self.fills: list[Fill] = []
        self.containers: list[Container] = []
        self.blocks: list[Block] = [Block(-1, -1, 0, 0)]
        self.statements: list[int] = [0]
        self.stars: list[tuple[int, str]] = []
        self.exports: list[str] | None = None
        self.block = 0
        self.at = 0
        self.depth = 0
        self.scope = OpenScope(MODULE_SCOPE, MODULE, MODULE, 0)
        self.owner = self.scope  # whose complexity is counted: no lambda, no comprehension
        self.scopes.append(self.scope)

    def open_scope(self, kind: int, name: str, qualname: str, line: int) -> OpenScope:
        """A new scope inside the current one, made by the current statement."""
        scope = OpenScope(kind, name, qualname, len(self.scopes))
        scope.parent = self.scope
        scope.at = self.at
        scope.line = line
        self.scopes.append(scope)
        return scope

    def bind(self, name: str, kind: int, term: Any, extra: Any = None) -> None:
        """The current statement gives `name` a value."""
        scope = target = self.scope
        if scope.outer:
            target = scope.outer.get(name, scope)
        self.names.add(name)
        bind = Bind(kind, self.at, scope.index, term, extra)
        binds = target.binds
        known = binds.get(name)
        if known is None:
            binds[name] = [bind]
        else:
            known.append(bind)

    def close(self) -> Lowered:
        """As it is stored."""
        return Lowered(
            self.path,
            tuple(sorted(self.names)),
            tuple(scope.close() for scope in self.scopes),
            tuple(self.calls),
            tuple(self.reads),
            tuple(self.stores),
            tuple(self.fills),
            tuple(self.containers),
            tuple(self.blocks),
            tuple(self.statements),
            tuple(self.stars),
            None if self.exports is None else tuple(self.exports),
        )
