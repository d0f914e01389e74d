"""What imports load, and what loading does besides defining names.

    import app.tasks             # ruff: unused, remove it

    # app/tasks.py
    @register                    # but its import registers `send`
    def send(): ...

A module only defines if nothing that runs on its import calls, decorates with or derives from what
may do more, or changes a part of something, and if all modules that it loads only define.
"""

import ast
import builtins
import os
import sys
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from remora.code.callgraph.abstract_values import MODULE
from remora.code.callgraph.module_lookup import ModuleLookup
from remora.code.edit.import_edits import Imported, imported_names, is_type_checking
from remora.code.edit.name_binding import root_name
from remora.code.syntax.definitions import FunctionNode, ImportNode
from remora.code.syntax.effects import unqualified_name
from remora.code.syntax.hidden_uses import names_in
from remora.tools.file_tree import FileTree

UNSEEN = ""
"""A module of the project that is not in its files, such as a generated one."""
_STANDARD_FOLDER = Path(os.__file__).parent
_FOR_EFFECT = ("_strptime", "antigravity", "encodings", "readline", "rlcompleter", "this")
"""Modules of the standard library that are imported for what they do."""
_DEFINING = ("attr", "attrs", "numpy", "pytest", "six")
"""Packages whose import only defines: of 88 unused imports of others in 200 packages, 40 are of them."""
_KNOWN = sys.stdlib_module_names.difference(_FOR_EFFECT).union(_DEFINING)
_HARMLESS = frozenset(
    ("NewType", "ParamSpec", "Path", "TypeVar", "abspath", "abstractmethod", "attrs", "auto", "cache",
     "cached_property", "compile", "contextmanager", "dataclass", "defaultdict", "define", "dirname", "field",
     "fixture", "get", "getLogger", "getenv", "ib", "join", "lru_cache", "namedtuple", "overload", "partial",
     "runtime_checkable", "s", "total_ordering", "unique", "wraps")
)  # fmt: skip
"""Functions and decorators of known modules that change nothing, as modules call them on import."""
_ACCESSORS = ("deleter", "getter", "setter")
_NOT_PLAIN = ("filter", "map", "type")
"""Builtin classes that run other code, or see what derives from them."""


class ImportEffects:
    """The modules that imports of a project load: paths of its own files, and names of others."""

    def __init__(self, place: FileTree) -> None:
        self._place = place
        self._paths = frozenset(place.files.glob("**/*.py", look=place.left))
        self._lookup = ModuleLookup(self._paths)
        self._modules: dict[str, _Module] = {}

    def loaded(self, importer: str, imported: Imported) -> Iterator[str]:
        """Yield the modules that an import loads, without packages that the importer is in."""
        name = imported.module.lstrip(".")
        level = len(imported.module) - len(name)
        modules = [*accumulate(name.split("."), "{}.{}".format)]
        is_own = bool(level) or self._path(importer, 0, modules[0]).endswith(".py")
        for dotted in dict.fromkeys((*modules, f"{name}.{imported.name}".strip("."))):
            path = self._path(importer, level, dotted)
            package = path.removesuffix("__init__.py")
            if path.endswith(".py") and (package == path or not importer.startswith(package)):
                yield path
            elif not path and dotted in modules:
                yield UNSEEN if is_own else dotted
            elif not path and not is_own and _is_standard_module(dotted):
                yield dotted

    def _path(self, importer: str, level: int, dotted: str) -> str:
        """Return the file or folder of a module of the project, or an empty string."""
        look = self._lookup
        found = look.relative(importer, level, dotted) if level else look.absolute(importer, dotted)
        is_known = not level and dotted.partition(".")[0] in _KNOWN
        return "" if found is None or (is_known and found[0] != MODULE) else str(found[1])

    def reached(self, importer: str, imported: Imported) -> set[str]:
        """Return what an import loads, also by the imports of what it loads."""
        pending, reached = [(importer, imported)], set[str]()
        while pending:
            for name in self.loaded(*pending.pop()):
                if name in self._paths and name not in reached:
                    pending += [(name, other) for other in self._module(name).imports]
                reached.add(name)
        return reached

    def may_act(self, name: str, *, trusts_others: bool) -> bool:
        """Return True for a module that may do more than define names when it is loaded."""
        if name in self._paths:
            return self._module(name).acts
        top = name.partition(".")[0]
        return top in (UNSEEN, *_FOR_EFFECT) or not (trusts_others or top in _KNOWN)

    def _module(self, path: str) -> "_Module":
        if path not in self._modules:
            self._modules[path] = _Module(self._place.syntax_tree(path))
        return self._modules[path]


class _Module:
    """What runs when a module of a project is loaded."""

    def __init__(self, tree: ast.Module | None) -> None:
        self._is_known = tree is not None
        self._nodes = [] if tree is None else [*_import_time(tree)]
        imports: list[ast.stmt] = [node for node in self._nodes if isinstance(node, ImportNode)]
        self.imports = [*imported_names(ast.Module(imports, []))]
        self._tops = {n.bound.partition(".")[0]: n.module.partition(".")[0] for n in self.imports}
        self._own = {n.name for n in self._nodes if isinstance(n, FunctionNode | ast.ClassDef)}

    @cached_property
    def acts(self) -> bool:
        return not self._is_known or any(map(self._does_more, self._nodes))

    def _does_more(self, node: ast.AST) -> bool:
        match node:
            case ast.Call(func=used):
                return not self._is_harmless(used)
            case ast.ClassDef(bases=bases, keywords=words):
                bases = [*bases, *(word.value for word in words if word.arg == "metaclass")]
                return not all(map(self._is_plain, bases))
            case ast.AugAssign(target=ast.Name(id=name)):
                return name in self._tops
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                return True
        return False

    def _is_harmless(self, used: ast.expr) -> bool:
        """Return True for a function or decorator that changes nothing elsewhere."""
        used = used.func if isinstance(used, ast.Call) else used
        root, last = root_name(used), unqualified_name(used)
        if not root:
            return not any(isinstance(node, ast.Call) for node in ast.walk(used))
        if root in self._tops:
            return self._tops[root] in _KNOWN and last in _HARMLESS
        return last in _ACCESSORS or (root not in self._own and _is_plain_class(root))

    def _is_plain(self, base: ast.expr) -> bool:
        """Return True for a base or metaclass that does not register what derives from it."""
        root = root_name(base)
        is_own = root in self._own and "__init_subclass__" not in self._own
        return is_own or self._tops.get(root, "") in _KNOWN or _is_plain_class(root)


def _import_time(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that run when a module is imported, and calls of decorators."""
    pending: list[ast.AST] = [*tree.body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and (
            is_type_checking(node.test) or "__name__" in names_in(node.test)
        ):
            pending += node.orelse
            continue
        yield node
        pending += [ast.Call(used, [], []) for used in getattr(node, "decorator_list", ())]
        if isinstance(node, FunctionNode):
            pending += filter(None, (*node.args.defaults, *node.args.kw_defaults))
        elif not isinstance(node, ast.Lambda):
            pending += ast.iter_child_nodes(node)


def _is_plain_class(name: str) -> bool:
    return isinstance(getattr(builtins, name, None), type) and name not in _NOT_PLAIN


def _is_standard_module(dotted: str) -> bool:
    place = _STANDARD_FOLDER / dotted.replace(".", "/")
    is_module = place.is_dir() or place.with_suffix(".py").is_file()
    return is_module and dotted.partition(".")[0] in sys.stdlib_module_names
