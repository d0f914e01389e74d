"""Names of types in a file: how an annotation refers to them, and what it must import."""

import re
import sys
from collections import Counter, defaultdict
from functools import cached_property
from typing import NamedTuple

from remora.code.edit.import_edits import Imported, relative_module
from remora.judges.types.project_index import File, Function, ProjectIndex, is_builtin
from remora.judges.types.terms import arguments_of, head_of, members_of
from remora.tools.host.module_names import SOURCE_ROOTS

STDLIB_MODULES = {
    module: frozenset(names.split())
    for module, names in {
        "typing": "Any Literal NoReturn Self TextIO BinaryIO IO SupportsInt SupportsFloat "
        "SupportsIndex AnyStr Optional Union List Dict Tuple Set FrozenSet Type Deque DefaultDict",
        "collections.abc": "Iterable Iterator Sequence Mapping MutableMapping MutableSequence "
        "MutableSet Generator AsyncIterator AsyncIterable AsyncGenerator Awaitable Coroutine "
        "Callable Collection Hashable Sized Container Reversible KeysView ValuesView ItemsView",
        "re": "Match Pattern",
        "pathlib": "Path PurePath PurePosixPath PosixPath",
        "datetime": "datetime date time timedelta tzinfo timezone",
        "decimal": "Decimal",
        "fractions": "Fraction",
        "types": "TracebackType ModuleType FunctionType MethodType FrameType CodeType "
        "SimpleNamespace MappingProxyType",
        "collections": "OrderedDict defaultdict deque Counter ChainMap",
        "logging": "Logger Handler LogRecord Formatter LoggerAdapter Filter",
        "argparse": "ArgumentParser Namespace Action",
        "io": "StringIO BytesIO TextIOWrapper BufferedReader BufferedWriter RawIOBase "
        "BufferedIOBase",
        "enum": "Enum",
        "uuid": "UUID",
        "threading": "Thread Event Condition Timer Semaphore",
        "asyncio": "AbstractEventLoop Task Future Event Queue Lock Semaphore Condition "
        "StreamReader StreamWriter Transport BaseTransport Protocol BaseProtocol Server",
        "socket": "socket SocketType",
        "subprocess": "Popen CompletedProcess",
        "ssl": "SSLContext SSLSocket SSLObject",
        "contextlib": "ExitStack AsyncExitStack AbstractContextManager AbstractAsyncContextManager",
        "ast": "AST NodeVisitor Module expr stmt Call Name Attribute",
        "inspect": "Signature Parameter BoundArguments",
        "random": "Random",
        "os": "PathLike stat_result",
        "functools": "partial",
        "numbers": "Number Real",
        "contextvars": "Context ContextVar Token",
        "concurrent.futures": "Executor ThreadPoolExecutor Future",
        "configparser": "ConfigParser RawConfigParser",
        "email.message": "Message EmailMessage",
        "zipfile": "ZipFile ZipInfo",
        "tarfile": "TarFile TarInfo",
        "struct": "Struct",
        "tokenize": "TokenInfo",
        "string": "Template",
        "queue": "Queue",
        "selectors": "BaseSelector SelectorKey",
        "shelve": "Shelf",
        "sqlite3": "Connection Cursor Row",
        "unittest": "TestCase TestSuite TestResult",
        "xml.etree.ElementTree": "Element ElementTree",
    }.items()
}
"""Names that annotations use, by their module."""
_COUNTS = Counter(name for names in STDLIB_MODULES.values() for name in names)
STDLIB_NAMES = {
    name: module for module, names in STDLIB_MODULES.items() for name in names if _COUNTS[name] == 1
}
"""The module of each name that only one of these modules has."""
ADDED_IN = {"Literal": 8, "SupportsIndex": 8, "Self": 11}
"""The minor version of Python 3 that added a name of these modules, if it is 8 or later."""
OLD_ALIASES = {
    "list": "List",
    "dict": "Dict",
    "tuple": "Tuple",
    "set": "Set",
    "frozenset": "FrozenSet",
    "type": "Type",
    "defaultdict": "DefaultDict",
    "deque": "Deque",
}
"""Names in `typing` of built-in generics, which Python 3.8 needs."""


_BUILTIN_GENERIC = re.compile(rf"\b(?:{'|'.join(OLD_ALIASES)})\[")
_GENERICS_SINCE, _UNION_SINCE, _LAZY_SINCE = 9, 10, 14


class Written(NamedTuple):
    """An annotation as source text, with the imports that it needs, `lazy` for type checkers only."""

    text: str
    imports: frozenset[Imported]
    lazy: frozenset[Imported]


class ProjectNames:
    """Names that the files of a project define and import, and how its annotations look."""

    def __init__(self, index: ProjectIndex, minor: int) -> None:
        self.index = index
        self.minor = minor
        self._imported: dict[str, Counter[str]] = defaultdict(Counter)
        for file in index.files.values():
            for local, (module, name) in file.imports.items():
                if name == local and not module.startswith("."):
                    self._imported[name][module] += 1

    def usual_module(self, name: str) -> str:
        """Return the module from which the project imports a name, or an empty string."""
        usual = self._imported.get(name)
        return usual.most_common(1)[0][0] if usual else ""

    @cached_property
    def imports_relatively(self) -> bool:
        """True if most files that import others of their package do so relatively."""
        every = [_imports_relatively(file) for file in self.index.files.values()]
        return every.count(True) > every.count(False)


class FileNames:
    """Writes types as annotations of one file."""

    def __init__(self, file: File, project: ProjectNames) -> None:
        self._file = file
        self._project = project
        text = file.source.text
        self._lazy = ("__future__", "annotations") in file.imports.values()
        self._lazy = self._lazy or project.minor >= _LAZY_SINCE
        self._uses_aliases = not _BUILTIN_GENERIC.search(text) and any(
            file.imports.get(alias) == ("typing", alias) for alias in OLD_ALIASES.values()
        )
        """True if the file writes `List[int]` everywhere, whatever Python it needs."""
        can_join = self._lazy or project.minor >= _UNION_SINCE
        prefers_optional = "Optional[" in text and "| None" not in text
        self.joins = can_join and not prefers_optional
        """True if unions are written with `|`."""

    def write(self, term: str, function: Function) -> Written | None:
        """Return the annotation for a type, or None if a name in it is not known or ambiguous."""
        writer = _Writer(self, function)
        text = writer.union(term)
        if text is None:
            return None
        if writer.quoted and not self._lazy:
            text = f'"{text.replace(chr(34), chr(39))}"'
        return Written(text, frozenset(writer.imports), frozenset(writer.lazy))

    @property
    def _imports_relatively(self) -> bool:
        own = _imports_relatively(self._file)
        return self._project.imports_relatively if own is None else own

    def local_name(self, name: str, function: Function) -> "_Local | None":
        """Return how the file refers to a type by its name. Names with dots stay as they are."""
        if self._is_hidden(name, function):
            return None
        owner, dot, _ = name.partition(".")
        if dot:
            is_class = owner in self._file.classes
            return _Local(name, None, is_class or owner in self._file.lazy_imports)
        found = self._bound(name, function)
        if found is not None:
            return found
        if is_builtin(name):
            return self._builtin(name)
        return self._unbound(name)

    def _unbound(self, name: str) -> "_Local | None":
        """Return a name of a module, unless the project's oldest Python does not have the name."""
        if self._project.minor < ADDED_IN.get(name, 0):
            return None
        return self._of_module(name) or self._imported(name)

    def _is_hidden(self, name: str, function: Function) -> bool:
        """Return True if the class of the method has a member with the type's name."""
        return function.owner is not None and name in function.owner.members

    def _bound(self, name: str, function: Function) -> "_Local | None":
        """Return a name that the module already binds."""
        owner = self._file.classes.get(name)
        if owner is not None:
            is_later = (
                owner.node.end_lineno is None or owner.node.end_lineno >= function.node.lineno
            )
            return _Local(name, None, is_later)
        if self._file.imports.get(name, ("", ""))[1] == name:
            return _Local(name, None, name in self._file.lazy_imports)
        if name in self._file.bindings:
            return _Local(name, None, False) if not is_builtin(name) else None
        return None

    def _builtin(self, name: str) -> "_Local":
        is_needed = self._project.minor < _GENERICS_SINCE and not self._lazy
        uses_alias = is_needed or self._uses_aliases
        return _Local(name, None, False, OLD_ALIASES.get(name, "") if uses_alias else "")

    def _of_module(self, name: str) -> "_Local | None":
        """Return a name of the only module of the standard library that the file imports for it."""
        if name in self._project.index.classes:
            return None
        found = [
            (local, module)
            for local, (module, original) in self._file.imports.items()
            if not original and name in STDLIB_MODULES.get(module, ())
        ]
        if len(found) != 1:
            return None
        local = found[0][0]
        return _Local(f"{local}.{name}", None, local in self._file.lazy_imports)

    def _imported(self, name: str) -> "_Local | None":
        """Return a name that must be imported, or that an imported module has."""
        index = self._project.index
        own = [owner.path for owner in index.classes.get(name, []) if "." not in owner.name]
        own = own or index.aliases.get(name, [])
        module = self._project.usual_module(name) or STDLIB_NAMES.get(name, "")
        if len(own) + bool(module and not own) != 1:
            return None
        if own:
            source = module_of(own[0], self._file, relative=self._imports_relatively)
            return None if source is None else self._own(name, source)
        if module == "collections.abc" and self._project.minor < _GENERICS_SINCE and not self._lazy:
            module = "typing"
        if self._file.imports.get(name, (name, name))[1] != name:
            return None  # the file uses the name for something else
        is_standard = module.partition(".")[0] in sys.stdlib_module_names
        is_lazy = module in self._file.lazy_modules or not is_standard
        return _Local(name, Imported(module, name, name), is_lazy)

    def _own(self, name: str, source: str) -> "_Local":
        """Return a class of the project as a name of its module if the file imports the module.

        It is imported for type checkers only, unless the file imports other names from its module.
        """
        for local, (module, original) in self._file.imports.items():
            dot = "." if original and not module.endswith(".") else ""
            if f"{module}{dot}{original}" == source:
                return _Local(f"{local}.{name}", None, True)
        is_lazy = not any(
            module == source and original and local not in self._file.lazy_imports
            for local, (module, original) in self._file.imports.items()
        )
        return _Local(name, Imported(source, name, name), is_lazy)


class _Local(NamedTuple):
    """A name in a file. `quoted` is True if it does not exist when the function is defined.

    `generic` is the name to import from `typing` if the type has arguments.
    """

    text: str
    needs: Imported | None
    quoted: bool
    generic: str = ""


class _Writer:
    """Writes one annotation, and collects its imports."""

    def __init__(self, names: FileNames, function: Function) -> None:
        self._names = names
        self._function = function
        self.imports: set[Imported] = set()
        self.lazy: set[Imported] = set()
        self.quoted = False

    def union(self, term: str) -> str | None:
        written = [self._member(member) for member in members_of(term)]
        parts = [part for part in written if part is not None]
        if len(parts) != len(written):
            return None
        if len(parts) == 1 or self._names.joins:
            return " | ".join(parts)
        others = [part for part in parts if part != "None"]
        optional = len(others) < len(parts)
        inner = others[0]
        if len(others) > 1:
            head = self._name("Union")
            inner = f"{head}[{', '.join(others)}]"
        return f"{self._name('Optional')}[{inner}]" if optional else inner

    def _member(self, term: str) -> str | None:
        if term in ("None", "...", "()"):
            return term
        if term.startswith("["):
            return self._arguments(term[1:-1])
        head, arguments = head_of(term), arguments_of(term)
        name = self._name(head, generic=bool(arguments))
        if name is None or not arguments:
            return name
        if head == "Literal":
            return f"{name}{term[len(head) :]}"
        written = [self.union(argument) for argument in arguments]
        parts = [part for part in written if part is not None]
        return f"{name}[{', '.join(parts)}]" if len(parts) == len(written) else None

    def _arguments(self, inner: str) -> str | None:
        parts = [self.union(argument) for argument in arguments_of(f"x[{inner}]")] if inner else []
        known = [part for part in parts if part is not None]
        return f"[{', '.join(known)}]" if len(known) == len(parts) else None

    def _name(self, name: str, *, generic: bool = False) -> str | None:
        found = self._names.local_name(name, self._function)
        if found is None:
            return None
        if generic and found.generic:
            return self._name(found.generic)
        if found.needs is not None:
            (self.lazy if found.quoted else self.imports).add(found.needs)
        self.quoted = self.quoted or found.quoted
        return found.text


def _imports_relatively(file: File) -> bool | None:
    """Return whether a file imports others of its package relatively, or None if it imports none."""
    modules = [module for module, _ in file.imports.values()]
    if any(module.startswith(".") for module in modules):
        return True
    package = _parts(file.path)[0]
    return False if any(module.partition(".")[0] == package for module in modules) else None


def module_of(path: str, importer: File, *, relative: bool) -> str | None:
    """Return the module of a project's file, as another file would import it.

    Returns None if the files have no package in common.
    """
    target, own = _parts(path), _parts(importer.path)
    if not target or target[0] != own[0]:
        return None
    if not relative:
        return ".".join(target)
    return relative_module(own if importer.path.endswith("/__init__.py") else own[:-1], target)


def _parts(path: str) -> list[str]:
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return parts[1:] if len(parts) > 1 and parts[0] in SOURCE_ROOTS else parts
