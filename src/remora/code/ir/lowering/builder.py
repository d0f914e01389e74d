"""Mutable IR of a file that is being lowered."""

import ast
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

from remora.code.ir import model as ir
from remora.code.ir.model import DEFINITION, IMPORT_FROM, Binding, Block, Export, Parameter, Scope
from remora.code.syntax.definitions import DefinitionNode, ImportNode
from remora.ids import MODULE, NodeKey


class OpenScope:
    """A scope under construction. `Scope` describes the attributes that are not described here."""

    def __init__(
        self, kind: int, name: str, index: int, parent: "OpenScope | None", at: int, line: int
    ) -> None:
        self.kind = kind
        self.name = name
        self.qualname = ""
        """Set after all definitions have been found, as is `key`."""
        self.key = NodeKey("")
        self.index = index
        """Number of the scope."""
        self.parent = parent
        self.at = at
        self.line = line
        self.flags = 0
        self.branches = 0
        """Number of branches, for the complexity. Those of comprehensions count outside."""
        self.params: Sequence[Parameter] = ()
        self.decorators: Sequence[int] = ()
        self.annotation: Any = None
        self.bases: Sequence[Any] = ()
        self.binds: dict[str, list[Binding]] = {}
        self.outer: dict[str, OpenScope] = {}
        """The scopes of the names declared `global` or `nonlocal`."""
        self.results: list[tuple[int, Any]] = []
        self.yields: list[tuple[int, Any]] = []

    def owner_of(self, name: str) -> "OpenScope":
        """Return the nearest enclosing function that binds the nonlocal `name`.

        If there is no such function, return this scope.
        """
        scope = self.parent
        while scope is not None:
            known = name in scope.binds or any(p.name == name for p in scope.params)
            if scope.kind == ir.FUNCTION_SCOPE and known:
                return scope
            scope = scope.parent
        return self

    @property
    def enclosing_function(self) -> "OpenScope":
        """The scope itself or, for a comprehension, the nearest enclosing scope of another kind."""
        scope = self
        while scope.kind == ir.COMPREHENSION_SCOPE and scope.parent is not None:
            scope = scope.parent
        return scope

    def build(self) -> Scope:
        parent, yields = self.parent, self.yields
        if parent is not None and not self.qualname:
            self.qualname = parent.qualname  # a lambda or comprehension belongs to the outer node
        return Scope(
            self.kind,
            self.name,
            self.qualname,
            parent.index if parent is not None else -1,
            self.at,
            self.line,
            self.flags | ir.GENERATOR if yields else self.flags,
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
"""Records a syntax node and returns its term, if any."""
Types = dict[str, Any]
"""Maps `x` or `x.y` to its NARROWED term."""
PendingBody = tuple[OpenScope, Sequence[ast.stmt], int]
"""A scope, its statements and the block around them."""


class IRParts:
    """The parts of a `LoweredFile` that have been lowered. That record describes them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.names: set[str] = set()
        self.calls: list[ir.Call] = []
        self.reads: list[ir.AttributeRead] = []
        self.stores: list[ir.AttributeWrite] = []
        self.fills: list[ir.ContainerWrite] = []
        self.containers: list[ir.Container] = []
        self.blocks: list[Block] = [Block(-1, -1, 0, 0)]
        self.statements: list[int] = [0]
        self.stars: list[tuple[int, str]] = []
        self.exports: list[Export] | None = None
        self.outer_statements = 0
        self.loads: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        self.defined: set[str] = set()
        """Names of imports and definitions."""
        self.deep: list[tuple[OpenScope, int, Types, ast.expr]] = []
        """The scope, statement, types and syntax of what is nested too deeply."""


class IRBuilder(IRParts):
    """Builds the IR of one file and keeps track of the current position in the file."""

    is_lazy = False
    """True if the module has a `__getattr__`, which may look up names in a dict of strings."""

    def __init__(
        self,
        path: str,
        expression_handlers: dict[type[ast.AST], LoweringFunction],
        statement_handlers: dict[type[ast.AST], LoweringFunction],
    ) -> None:
        super().__init__(path)
        self.expression_handlers = expression_handlers
        self.statement_handlers = statement_handlers
        self.definitions: list[tuple[DefinitionNode, OpenScope]] = []
        """Functions and classes, with their scopes."""
        self.imports: list[ImportNode] = []
        """Import statements."""
        self.class_bodies: deque[PendingBody] = deque()
        """Bodies of classes to lower."""
        self.function_bodies: deque[PendingBody] = deque()
        """Bodies of functions to lower, after everything outside of them."""
        self.groups = 0
        """Number of groups of blocks."""
        self.block = 0
        """Number of the current block."""
        self.statement = 0
        """Number of the current statement."""
        self.depth = 0
        """Nesting of the current expression."""
        self.scope = OpenScope(ir.MODULE_SCOPE, MODULE, 0, None, 0, 0)
        """Current scope."""
        self.scope.qualname = MODULE
        self.scope_index = 0
        """Number of the current scope."""
        self.counted_scope = self.scope
        """Scope that counts branches: never a lambda or comprehension."""
        self.scopes: list[OpenScope] = [self.scope]
        self.types: list[Types] = [{}]
        """What conditions imply, at the current position last, and around it."""

    def open_scope(self, kind: int, name: str, line: int) -> OpenScope:
        """Create a scope inside the current scope, at the current statement."""
        scopes = self.scopes
        scope = OpenScope(kind, name, len(scopes), self.scope, self.statement, line)
        scopes.append(scope)
        return scope

    def enter(self, scope: OpenScope) -> None:
        self.scope = scope
        self.scope_index = scope.index

    def start_statement(self, block: int) -> None:
        self.statement = len(self.statements)
        self.statements.append(block)

    def new_group(self) -> int:
        self.groups += 1
        return self.groups

    def push_types(self, types: Types) -> None:
        """Know these types, too, until `types` is popped."""
        self.types.append(self.types[-1] | types)

    def forget(self, path: str) -> None:
        """Forget the type of `x` or `x.y`, because it is assigned."""
        for types in self.types:
            for known in [known for known in types if f"{known}.".startswith(f"{path}.")]:
                del types[known]

    def mangled(self, name: str) -> str:
        """Return `_A__x` for the private name `__x` in a class `A`, and else the name."""
        if name[1:2] != "_" or name[-2:] == "__":
            return name
        scope: OpenScope | None = self.scope
        while scope is not None and scope.kind != ir.CLASS_SCOPE:
            scope = scope.parent
        owner = "" if scope is None else scope.name.lstrip("_")
        self.names.add(name)
        return f"_{owner}{name}" if owner else name

    def bind(self, name: str, kind: int, term: Any, extra: Any = None) -> None:
        """Record that the current statement binds `name`."""
        if name[0] == "_":
            name = self.mangled(name)
        target = self.scope
        if target.outer:
            target = target.outer.get(name, target)
        self.names.add(name)
        if self.types[-1]:
            self.forget(name)
        if kind in (DEFINITION, IMPORT_FROM):
            self.defined.add(name)
        bind = Binding(kind, self.statement, self.scope_index, term, extra)
        binds = target.binds
        if name in binds:
            binds[name].append(bind)
        else:
            binds[name] = [bind]

    def load(self, name: str, line: int) -> None:
        """Record a use of a name that is defined or imported, or may be so later."""
        self.names.add(name)
        self.loads[name].append((self.scope_index, self.statement, line))

    def build(self) -> ir.LoweredFile:
        return ir.LoweredFile(
            self.path,
            tuple(sorted(self.names)),
            tuple([scope.build() for scope in self.scopes]),
            tuple(self.calls),
            tuple(self.reads),
            tuple(self.stores),
            tuple(self.fills),
            tuple(self.containers),
            tuple(self.blocks),
            tuple(self.statements),
            tuple(self.stars),
            None if self.exports is None else tuple(self.exports),
            self.outer_statements,
            {key: tuple(at) for key, at in self.loads.items() if self.stars or key in self.defined},
        )
