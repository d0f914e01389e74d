"""The function under test, with information on how to import and call it."""

import ast
from collections.abc import Callable

import msgspec

from remora.code.syntax.definitions import FunctionNode, first_line
from remora.code.syntax.hidden_uses import names_in
from remora.code.syntax.source import Source, Unreadable, read_source
from remora.errors import HostError
from remora.judges.faults.mutants import function_named
from remora.tools.host.module_names import SOURCE_ROOTS
from remora.tools.tree import ToolTree

_STATIC = frozenset({"staticmethod", "classmethod"})
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
_ROOTS = ("", *SOURCE_ROOTS)
_INIT = "/__init__.py"
_ENVIRONMENT_NAMES = frozenset(
    {
        "platform", "argv", "environ", "getenv", "version_info", "getcwd", "stdin", "executable",
        "cpu_count", "process_cpu_count", "sched_getaffinity", "getloadavg", "which", "disk_usage",
        "getuid", "geteuid", "getlogin", "gethostname", "isatty", "get_terminal_size",
    }
)  # fmt: skip
"""Names whose use makes a function depend on its environment."""


class TargetFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function or method under test."""

    path: str
    """The path of its file."""
    qualname: str
    """Its name in the file."""
    import_root: str
    """The folder from which `module` is imported."""
    module: str
    """The dotted name of its module."""
    name: str
    """What tests import from the module: the function, or the class of a method."""
    owner: ast.ClassDef | None
    """The class to instantiate, or None if no instance is needed."""
    function: FunctionNode
    """Its definition."""
    source: Source
    """Its file."""

    @property
    def parameters(self) -> ast.arguments:
        return self.function.args

    @property
    def header(self) -> list[int]:
        """The lines of the first decorator and of the `def`."""
        return [first_line(self.function), self.function.lineno]

    @property
    def implied(self) -> int:
        """Number of leading parameters that calls omit, which are `self` or `cls`."""
        return int("." in self.qualname and "staticmethod" not in _decorator_names(self.function))


def find_target(
    path: str, content: bytes, qualname: str, exists: Callable[[str], bool]
) -> TargetFunction | str:
    """Return the function under test, or the reason no test can be written for it."""
    source = read_source(path, content)
    if isinstance(source, Unreadable):
        return source.detail
    return target_in(source, path, function_named(source.tree, qualname), qualname, exists)


def target_in(
    source: Source,
    path: str,
    function: FunctionNode | None,
    qualname: str,
    exists: Callable[[str], bool],
) -> TargetFunction | str:
    """Return the function under test like `find_target`, for a file that has been read."""
    if not isinstance(function, ast.FunctionDef):
        return "it is not a plain function"
    if _is_unimplemented(function):
        return "it is not implemented yet"
    if "/" not in path and exists("__init__.py"):
        return "the name of its package is unknown: the package is the root folder"
    names = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    names |= names_in(function)
    if names & _ENVIRONMENT_NAMES:
        return f"it depends on where it runs ({', '.join(sorted(names & _ENVIRONMENT_NAMES))})"
    root, module = import_name(path, exists)
    owner = None
    if "." in qualname and not _STATIC & _decorator_names(function):
        owner = class_named(source.tree, qualname.rpartition(".")[0])
        if owner is None:
            return "its class is not at the top of the file"
    return TargetFunction(
        path=path, qualname=qualname, import_root=root, module=module,
        name=qualname.partition(".")[0], owner=owner, function=function, source=source,
    )  # fmt: skip


def _is_unimplemented(function: FunctionNode) -> bool:
    """Return True if the function is not implemented yet."""
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Raise) and "NotImplemented" in ast.dump(statement))
        for statement in function.body
    )


def is_importable(subject: TargetFunction) -> bool:
    """Return True for modules in packages, and for those in folders of which tests can import."""
    return "." in subject.module or subject.import_root in _ROOTS or subject.path.endswith(_INIT)


def import_name(path: str, exists: Callable[[str], bool]) -> tuple[str, str]:
    """Return the folder from which a module is imported, and the module's dotted name.

    A folder around a package belongs to the name if it is a namespace, as in `jaraco/text/`.
    """
    *folders, file = path.removesuffix(".py").split("/")
    parts = [] if file == "__init__" else [file]
    is_package = False
    while folders and exists("/".join((*folders, "__init__.py"))):
        parts.insert(0, folders.pop())
        is_package = True
    around = "/".join(folders)
    if (
        is_package
        and around not in _ROOTS
        and around.rpartition("/")[0] in _ROOTS
        and folders[-1].isidentifier()
        and not any(exists(f"{around}/{name}") for name in _PROJECT_FILES)
    ):
        parts.insert(0, folders.pop())
    return "/".join(folders), ".".join(parts)


def class_named(tree: ast.Module, name: str) -> ast.ClassDef | None:
    classes = (statement for statement in tree.body if isinstance(statement, ast.ClassDef))
    return next((owner for owner in classes if owner.name == name), None)


def _decorator_names(function: FunctionNode) -> set[str]:
    return {ast.unparse(decorator) for decorator in function.decorator_list}


def target_at(place: ToolTree, path: str, node: str) -> TargetFunction | str:
    """Return the function under test, or the reason it cannot be tested.

    Raises HostError if the file cannot be read.
    """
    return find_target(path, place.read(path), node, place.files.exists)


def require_target(place: ToolTree, path: str, node: str) -> TargetFunction:
    """Return the function under test. Raises HostError if it cannot be read or tested."""
    subject = target_at(place, path, node)
    if isinstance(subject, str):
        raise HostError(f"{node}: {subject}")
    return subject
