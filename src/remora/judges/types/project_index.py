"""Functions, classes, imports and annotations of all files of a project."""

import ast
import builtins
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from remora.code.edit.import_edits import imported_names, is_type_checking
from remora.code.syntax.definitions import FunctionNode, ImportNode
from remora.judges.types.slots import RETURN, Kind, SourceText, functions_of, parameters_of
from remora.judges.types.terms import canonical

_KNOWN_MODULES = ("builtins", "collections", "typing", "typing_extensions")


class Parameter(NamedTuple):
    """A parameter."""

    name: str
    kind: Kind
    term: str
    """The canonical annotation, or an empty string."""
    default: ast.expr | None


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a file."""

    path: str
    qualname: str
    number: int
    """Its position among the functions of its file."""
    node: FunctionNode
    owner: "Class | None"
    """The class whose body contains it."""
    parameters: tuple[Parameter, ...]
    """Its parameters without the receiver of a method."""
    returns: str
    """The canonical annotation of its result, or an empty string."""

    @property
    def name(self) -> str:
        return self.node.name

    def parameter(self, name: str) -> Parameter | None:
        return next((parameter for parameter in self.parameters if parameter.name == name), None)

    def terms(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the term of each annotation."""
        for parameter in self.parameters:
            if parameter.term:
                yield parameter.name, parameter.term
        if self.returns:
            yield RETURN, self.returns


@dataclass(eq=False)
class Class:
    """A class. `members` contains its methods and the attributes that it sets."""

    path: str
    name: str
    node: ast.ClassDef
    bases: tuple[str, ...]
    methods: dict[str, Function] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)


@dataclass(eq=False)
class File:
    """A file. `imports` maps each name bound by an import to its module and original name.

    `lazy_imports` contains the names, and `lazy_modules` the modules, that are imported only for
    type checkers. `bindings` contains the names that the module assigns.
    """

    path: str
    source: SourceText
    functions: list[Function]
    classes: dict[str, Class]
    imports: Mapping[str, tuple[str, str]]
    lazy_imports: frozenset[str]
    lazy_modules: frozenset[str]
    bindings: frozenset[str]

    @property
    def owners(self) -> frozenset[str]:
        """Names whose attributes may be types, such as `shop` in `shop.Cart`.

        Types of `typing` and `collections` are known by their own names.
        """
        imported = {
            local
            for local, (module, _) in self.imports.items()
            if module.partition(".")[0] not in _KNOWN_MODULES
        }
        return frozenset((*imported, *self.classes))

    @cached_property
    def imported_words(self) -> frozenset[str]:
        """The words of the modules and names that the file imports anywhere."""
        nodes = [node for node in ast.walk(self.source.tree) if isinstance(node, ImportNode)]
        names = [alias.name for node in nodes for alias in node.names]
        names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        return frozenset(word for name in names for word in name.split(".") if word)

    @cached_property
    def own_names(self) -> frozenset[str]:
        """The names of the classes and functions of the module."""
        names = [*self.classes, *(function.qualname for function in self.functions)]
        return frozenset(name for name in names if "." not in name)


class ProjectIndex:
    """All files of a project that parse, with lookups by name."""

    def __init__(self, texts: Mapping[str, str], known: "ProjectIndex | None" = None) -> None:
        """Read the files, or take those that `known` has with the same text."""
        self.files: dict[str, File] = {}
        self.classes: dict[str, list[Class]] = defaultdict(list)
        self.subclasses: dict[str, list[Class]] = defaultdict(list)
        self.aliases: dict[str, list[str]] = defaultdict(list)
        for path, text in sorted(texts.items()):
            file = known.files.get(path) if known is not None else None
            if file is not None and file.source.text == text:
                self._add(file)
                continue
            try:
                source = SourceText(text)
            except (SyntaxError, ValueError, RecursionError):
                continue
            self._add(_file(path, source))

    def _add(self, file: File) -> None:
        self.files[file.path] = file
        for owner in file.classes.values():
            self.classes[owner.name.rpartition(".")[2]].append(owner)
            for base in owner.bases:
                self.subclasses[base].append(owner)
        for name in file.bindings:
            self.aliases[name].append(file.path)

    def every_function(self) -> Iterator[Function]:
        for file in self.files.values():
            yield from file.functions

    def find_class(self, name: str, path: str) -> Class | None:
        """Return the class that a short name means in a file: of this file, or the only one."""
        found = self.classes.get(name, [])
        own = [owner for owner in found if owner.path == path]
        return (own or found)[0] if len(own) == 1 or len(found) == 1 else None

    def ancestors(self, given: Class) -> list[Class]:
        """Return the classes of the project that a class inherits from, nearest first."""
        found: list[Class] = []
        waiting = [given]
        while waiting:
            current = waiting.pop(0)
            for base in current.bases:
                parent = self.find_class(base, current.path)
                if parent is not None and parent not in found and parent is not given:
                    found.append(parent)
                    waiting.append(parent)
        return found

    def overrides_of(self, function: Function) -> Iterator[Function]:
        """Yield the methods of all subclasses that override a method. Special methods have none."""
        if function.owner is None or function.name.startswith("__"):
            return
        names = [function.owner.name.rpartition(".")[2]]
        for base in names:
            for subclass in self.subclasses.get(base, ()):
                name = subclass.name.rpartition(".")[2]
                if name not in names:
                    names.append(name)
                method = subclass.methods.get(function.name)
                if method is not None and method is not function:
                    yield method

    def required_types(self, function: Function, name: str) -> set[str]:
        """Return the types that other methods require for a parameter or, with `return`, the result.

        These are the types in overridden methods; the type that all annotated parameters of this
        name in the class have, if there are at least two; and `object` in special methods.
        """
        owner = function.owner
        if owner is None:
            return set()
        above = (ancestor.methods.get(function.name) for ancestor in self.ancestors(owner))
        required = {dict(method.terms()).get(name, "") for method in above if method is not None}
        beside = [dict(method.terms()).get(name, "") for method in owner.methods.values()]
        shown = Counter(term for term in beside if term and name != RETURN)
        if len(shown) == 1 and shown.total() > 1:
            required |= {*shown} - {"object"}
        return required - {""} | ({"object"} if function.name.startswith("__") else set())


def _file(path: str, source: SourceText) -> File:
    classes = {
        name: Class(path=path, name=name, node=node, bases=tuple(_base_names(node)))
        for name, node in _classes(source.tree.body, "")
    }
    by_node = {id(owner.node): owner for owner in classes.values()}
    functions = []
    for number, (name, node, owner) in enumerate(functions_of(source.tree)):
        holder = by_node.get(id(owner)) if owner is not None else None
        function = Function(
            path, name, number, node, holder, _parameters(node, owner), _term(node.returns)
        )
        functions.append(function)
        if holder is not None:
            holder.methods.setdefault(node.name, function)
    for made in classes.values():
        _read_members(made)
    body = source.tree.body
    imports = dict(_imports(_top_level(body)))
    blocks = [
        statement
        for statement in body
        if isinstance(statement, ast.If) and is_type_checking(statement.test)
    ]
    lazy = dict(_imports(line for block in blocks for line in block.body))
    return File(
        path=path,
        source=source,
        functions=functions,
        classes=classes,
        imports=imports,
        lazy_imports=frozenset(lazy),
        lazy_modules=frozenset(module for module, name in lazy.values() if name),
        bindings=frozenset(_bindings(body)),
    )


def is_builtin(name: str) -> bool:
    """Return True for the name of a built-in type."""
    return name == "None" or isinstance(getattr(builtins, name, None), type)


def _bindings(body: list[ast.stmt]) -> Iterator[str]:
    for node in _top_level(body):
        match node:
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name


def _parameters(node: FunctionNode, owner: ast.ClassDef | None) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(arg.arg, kind, _term(arg.annotation), default)
        for arg, kind, default in parameters_of(node, owner)
    )


def _term(annotation: ast.expr | None) -> str:
    return "" if annotation is None else canonical(ast.unparse(annotation))


def _classes(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from _classes(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _classes(node.body + list(getattr(node, "orelse", [])), prefix)


def _base_names(node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        inner = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def _read_members(given: Class) -> None:
    given.members |= set(given.methods)
    for node in given.node.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                given.members.add(name)
    for function in given.methods.values():
        for inner in ast.walk(function.node):
            match inner:
                case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                    given.members.add(name)


def _imports(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, tuple[str, str]]]:
    for imported in imported_names(ast.Module([*statements], [])):
        if imported.name or "." not in imported.bound:
            yield imported.bound, (imported.module, imported.name)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, also those in `if` and `try` blocks."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from _top_level([*node.body, *node.orelse])
