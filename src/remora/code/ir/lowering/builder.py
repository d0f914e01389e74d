"""What is gathered while a file is lowered."""

import ast
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from remora.code.ir.model import (
    FUNCTION_SCOPE,
    GENERATOR,
    MODULE_SCOPE,
    AttributeRead,
    AttributeWrite,
    Binding,
    Block,
    Call,
    Container,
    ContainerWrite,
    Export,
    LoweredFile,
    Parameter,
    Scope,
)
from remora.code.syntax.definitions import DefinitionNode, ImportNode
from remora.ids import MODULE, NodeKey


class OpenScope:
    """A scope under construction; `qualname` is known at the end."""

    __slots__ = (
        "annotation",
        "at",
        "bases",
        "binds",
        "decorators",
        "flags",
        "index",
        "key",
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

    def __init__(
        self, kind: int, name: str, index: int, parent: "OpenScope | None", at: int, line: int
    ) -> None:
        self.kind = kind
        self.name = name
        self.qualname = ""
        self.key = NodeKey("")
        self.index = index
        self.parent = parent
        self.at = at
        self.line = line
        self.flags = 0
        self.points = 0
        self.params: Sequence[Parameter] = ()
        self.decorators: Sequence[int] = ()
        self.annotation: Any = None
        self.bases: Sequence[Any] = ()
        self.binds: dict[str, list[Binding]] = {}
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
        parent, yields = self.parent, self.yields
        if parent is not None and not self.qualname:
            self.qualname = parent.qualname  # a lambda's or a comprehension's code is its node's
        return Scope(
            self.kind,
            self.name,
            self.qualname,
            parent.index if parent is not None else -1,
            self.at,
            self.line,
            self.flags | GENERATOR if yields else self.flags,
            tuple(self.params),
            tuple(self.decorators),
            self.annotation,
            tuple(self.bases),
            {name: tuple(binds) for name, binds in self.binds.items()} if self.binds else {},
            tuple(sorted(self.outer)) if self.outer else (),
            tuple(self.results),
            tuple(yields) if yields else (),
        )


LoweringFunction = Callable[["IRBuilder", Any], Any]
"""Takes a node of the tree, records what is in it, and gives its term if it has one."""


class IRBuilder:
    """One file under construction, and where in it the pass stands."""

    __slots__ = (
        "at",
        "block",
        "blocks",
        "calls",
        "containers",
        "defined",
        "depth",
        "exports",
        "expressions",
        "fills",
        "groups",
        "imports",
        "index",
        "names",
        "owner",
        "path",
        "reads",
        "scope",
        "scopes",
        "stars",
        "statements",
        "steps",
        "stores",
        "waiting",
    )

    def __init__(
        self,
        path: str,
        expressions: dict[type[ast.AST], LoweringFunction],
        steps: dict[type[ast.AST], LoweringFunction],
    ) -> None:
        self.path = path
        self.expressions = expressions
        self.steps = steps
        self.names: set[str] = set()
        self.calls: list[Call] = []
        self.reads: list[AttributeRead] = []
        self.stores: list[AttributeWrite] = []
        self.fills: list[ContainerWrite] = []
        self.containers: list[Container] = []
        self.blocks: list[Block] = [Block(-1, -1, 0, 0)]
        self.statements: list[int] = [0]
        self.stars: list[tuple[int, str]] = []
        self.exports: list[Export] | None = None
        self.defined: list[tuple[DefinitionNode, OpenScope]] = []
        self.imports: list[ImportNode] = []
        self.waiting: deque[tuple[OpenScope, Sequence[ast.stmt], int]] = deque()
        self.groups = 0
        self.block = 0
        self.at = 0
        self.depth = 0
        self.scope = OpenScope(MODULE_SCOPE, MODULE, 0, None, 0, 0)
        self.scope.qualname = MODULE
        self.index = 0  # of the scope
        self.owner = self.scope  # whose complexity is counted: no lambda, no comprehension
        self.scopes: list[OpenScope] = [self.scope]

    def open_scope(self, kind: int, name: str, line: int) -> OpenScope:
        """A new scope inside the current one, made by the current statement."""
        scopes = self.scopes
        scope = OpenScope(kind, name, len(scopes), self.scope, self.at, line)
        scopes.append(scope)
        return scope

    def enter(self, scope: OpenScope) -> None:
        """What follows is in `scope`."""
        self.scope = scope
        self.index = scope.index

    def step(self, block: int) -> None:
        """What follows is a statement of its own, in `block`."""
        self.at = len(self.statements)
        self.statements.append(block)

    def new_group(self) -> int:
        """Of blocks of which one runs."""
        self.groups += 1
        return self.groups

    def bind(self, name: str, kind: int, term: Any, extra: Any = None) -> None:
        """The current statement gives `name` a value."""
        target = self.scope
        if target.outer:
            target = target.outer.get(name, target)
        self.names.add(name)
        bind = Binding(kind, self.at, self.index, term, extra)
        binds = target.binds
        if name in binds:
            binds[name].append(bind)
        else:
            binds[name] = [bind]

    def close(self) -> LoweredFile:
        """As it is stored."""
        return LoweredFile(
            self.path,
            tuple(sorted(self.names)),
            tuple([scope.close() for scope in self.scopes]),
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
