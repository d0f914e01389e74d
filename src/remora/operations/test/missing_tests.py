"""Functions that need a test, and the reasons no test can be proposed for some of them.

Only sources are read. No project code runs.
"""

import ast
import builtins
import re
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from remora.code.edit.import_edits import imported_names
from remora.code.syntax.definitions import FunctionNode, find_definitions
from remora.code.syntax.effects import own_nodes
from remora.code.syntax.nodes import Module, Node
from remora.code.syntax.source import Source, Unreadable, read_source
from remora.errors import HostError
from remora.operations.test.cases.hollow_cases import is_hollow_call
from remora.operations.test.function_context import test_files
from remora.operations.test.host_probe import ProjectTexts
from remora.operations.test.inputs.arguments import candidate_calls
from remora.operations.test.inputs.call_input import WRITTEN, CallInput
from remora.operations.test.inputs.project_examples import ProjectExamples
from remora.operations.test.insert.new_file import required_style
from remora.operations.test.insert_location import test_path
from remora.operations.test.new_files import NewFiles, new_files
from remora.operations.test.plan_trials import DEPENDS, NEED_CALLS, PlanTrials, UnwrittenTree
from remora.operations.test.planning.has_tests import NodesWithTests
from remora.operations.test.planning.missing_packages import InstalledPackages
from remora.operations.test.planning.run_doctests import RunDoctests
from remora.operations.test.planning.tested_names import COMMON_NAMES, TestedNames
from remora.operations.test.source_blocks import used_names
from remora.operations.test.state_changes import has_changes
from remora.operations.test.target_function import TargetFunction, is_importable, target_in
from remora.operations.test.testable_functions import is_script, needs_test
from remora.operations.test.trivial_functions import SHARED, why_trivial
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.tree import ToolTree

WITHOUT_ARGUMENTS = "without known arguments, which need a writer"
WITHOUT_RESULT = "without a result that a test can assert"
TRIVIAL = "with nothing to test"
_WITHOUT_CALLS = {"": WITHOUT_ARGUMENTS, SHARED: DEPENDS}
"""Reasons for functions without calls, by why they are trivial, if it is not `TRIVIAL`."""
WITH_EFFECTS = "with effects outside the process"
NOT_INSTALLED = "of modules that import packages that are not installed"
OPTIONAL = "that import a package only when they are called"
TYPE_COMMENTS = "whose tests have type comments, for Python 2"
_TYPE_COMMENT = re.compile(r"(?m)^\s+# type: \(")
REFUSED = "whose tests a lint rule of the project would refuse"
CHANGING = "with results that change from run to run or with the version"
NOT_CALLABLE = "that cannot be called from a test"
_EFFECTS = frozenset(
    {
        "open", "input", "Popen", "check_call", "check_output", "system", "mkdir", "makedirs", "unlink",
        "rmtree", "write_text", "write_bytes", "urlopen", "urlretrieve", "connect", "sendall", "fork",
        "NamedTemporaryFile", "TemporaryDirectory", "mkdtemp", "mkstemp", "copyfile", "copytree", "chmod",
        "parse_args", "parse_known_args",
    }
)  # fmt: skip
_CHANGING = frozenset(
    {
        "now", "utcnow", "today", "time_ns", "perf_counter", "monotonic", "uuid1", "uuid4", "urandom",
        "token_hex", "token_bytes", "token_urlsafe", "randint", "randrange", "getrandbits", "gethostname",
        "getpid",
    }
)  # fmt: skip
_SERVICES = frozenset(
    {
        "adapter", "api", "client", "session", "connection", "conn", "transport", "socket", "sock", "cursor", "http",
        "pool", "redis", "engine", "loop", "process",
    }
)  # fmt: skip
"""Names of attributes whose methods reach outside the process."""
_COMMON = frozenset({"open", "connect", "system", "input", "now", "today", "fork"})
"""Names of effects that are also common names of methods without effects."""

_TRANSPARENT = frozenset(
    {
        "cache", "lru_cache", "staticmethod", "classmethod", "wraps", "deprecated", "final", "override",
        "total_ordering", "singledispatch", "no_type_check", "register",
    }
)  # fmt: skip
"""Names of decorators that keep the parameters and the result."""


def _ignore(_line: str) -> None:
    pass


class TestNeed:
    """Computes which functions of a tree need a test. Files are read once.

    With the option `strengthen`, functions with tests are included. With the option `open`, a model
    can write calls of functions for which there is none that rules find.
    """

    __test__ = False

    def __init__(self, tree: Path, options: Mapping[str, Any]) -> None:
        python: ProjectPython | None = options.get("python")
        ruff = options.get("ruff", Ruff)
        self._place = ToolTree(tree, ruff=ruff)
        self._tested = NodesWithTests(tree, options.get("reached_by_tests") or ())
        self._strengthen = bool(options.get("strengthen"))
        self._can_write = bool(options.get("open"))
        self._names = TestedNames(self._place)
        self._installed = InstalledPackages(python, tree)
        self._files: dict[str, _File | None] = {}
        self._subjects: dict[str, TargetFunction] = {}
        may_try = bool(options.get("may_run")) and not self._strengthen
        tried = UnwrittenTree(tree, python if may_try else None, ruff=ruff)
        self._trials = PlanTrials(tried, self._texts, options.get("notify") or _ignore)

    def amount(self, module: Module, node: Node) -> int | str:
        """Return 1 for a job, 0 if there is nothing to do, or the reason there is no job."""
        if not needs_test(module, node):
            return 0
        if self._strengthen:
            reason = self._obstacle(node)
            return 1 if self._needs_calls(reason) else reason or 1
        file = self._file(node.path)
        if file is None or self._tested.holds(node.key):
            return 0
        if self._names.holds(node, file.source.tree):
            return 0
        reason = self._obstacle(node)
        if reason and not self._needs_calls(reason):
            return reason
        return self._refusal(node, reason) or 1

    def _needs_calls(self, reason: str) -> bool:
        """Return True if a model can write the calls for which there is no test."""
        return self._can_write and reason.startswith((WITHOUT_ARGUMENTS, *NEED_CALLS))

    def _refusal(self, node: Node, reason: str) -> str:
        """Return why the new tests cannot be put into their file, or what a trial shows.

        `reason` is the reason that rules find no calls, if it is known.
        """
        subject = self._subjects[node.path]
        home = test_path(subject, self._test_files, self._place.files.exists, self._new)
        if _TYPE_COMMENT.search(self._test_files.get(home, "")):
            return TYPE_COMMENTS
        if not self._test_files and required_style(self._place, home).refused:
            return REFUSED
        reason = reason or self._trials.reason(node, home)
        return "" if self._needs_calls(reason) else reason

    def _obstacle(self, node: Node) -> str:
        """Return the reason no test can be proposed, or an empty string."""
        file = self._file(node.path)
        function = file.functions.get(node.qualname) if file is not None else None
        if file is None or function is None or is_script(node.path, file.source.tree):
            return NOT_CALLABLE
        exists = self._place.files.exists
        subject = target_in(file.source, node.path, function, node.qualname, exists)
        if isinstance(subject, str) or not is_importable(subject):
            return NOT_CALLABLE
        if self._installed.lacks(file.source.tree):
            return NOT_INSTALLED
        self._subjects[node.path] = subject
        effects = _effects(function, file.source.tree)
        if not effects and _imports_optional(
            function, file.functions, subject.module.partition(".")[0]
        ):
            return OPTIONAL
        return effects or self._without_case(subject, file)

    def _without_case(self, subject: TargetFunction, file: "_File") -> str:
        """Return the reason no call has a result that a test can assert, or an empty string.

        A method may change its object instead, if a call is known or a model can write one.
        """
        function = subject.function
        calls = self._calls(subject)
        needs_result = subject.owner is None or not (self._can_write or calls)
        has_result = _has_result(function) and not _makes_function(function)
        if _returns_functions(function, file.functions) or (needs_result and not has_result):
            # calls of the resulting function, or changes of an argument, need a writer
            shows = _has_result(function) or has_changes(function)
            return WITHOUT_ARGUMENTS if self._can_write and shows else WITHOUT_RESULT
        return "" if calls else _WITHOUT_CALLS.get(why_trivial(subject), TRIVIAL)

    def _calls(self, subject: TargetFunction) -> list[CallInput]:
        """Return the known calls that may be of use."""
        calls = candidate_calls(subject, self._examples)
        calls = [each for each in calls if _is_possible(each, subject)]
        if self._strengthen:
            return calls
        if why_trivial(subject):
            calls = [each for each in calls if each.source in WRITTEN]
        return [each for each in calls if not is_hollow_call(each)]

    @cached_property
    def _new(self) -> NewFiles:
        return new_files(self._place, self._test_files)

    @cached_property
    def _test_files(self) -> dict[str, str]:
        return test_files(self._place)

    def _texts(self) -> ProjectTexts:
        return ProjectTexts(self._examples, self._test_files, self._doctests)

    @cached_property
    def _doctests(self) -> RunDoctests:
        return RunDoctests(self._place, self._test_files)

    @cached_property
    def _examples(self) -> ProjectExamples:
        return ProjectExamples(self._place)

    def _file(self, path: str) -> "_File | None":
        if path not in self._files:
            try:
                read = read_source(path, self._place.read(path))
            except HostError:
                return None
            self._files[path] = None if isinstance(read, Unreadable) else _File(read)
        return self._files[path]


class _File:
    """A parsed file with its functions, by qualname."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.functions = {
            each.qualname: each.node
            for each in find_definitions(source.tree, "")
            if isinstance(each.node, FunctionNode)
        }


def _called_names(function: FunctionNode, tree: ast.Module) -> set[str]:
    """Return the names of called functions and methods.

    Methods with common names, such as `connect`, count only if they belong to something imported.
    """
    imported = {each.bound.partition(".")[0] for each in imported_names(tree)}
    found: set[str] = set()
    for one in ast.walk(function):
        match one:
            case ast.Call(func=ast.Name(id=name)):
                found.add(name)
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                root = ast.unparse(value).partition(".")[0]
                if name not in _COMMON or root in imported:
                    found.add(name)
    return found


def _reads_version(function: FunctionNode) -> bool:
    names = {getattr(one, key, "") for one in ast.walk(function) for key in ("id", "attr", "name")}
    return "__version__" in names


def _imports_optional(
    function: FunctionNode, functions: Mapping[str, FunctionNode], package: str
) -> bool:
    """Return True if a function, or one of its file that it uses, imports another package itself.

    Such packages are often not installed.
    """
    near = [functions[name] for name in used_names(function) & functions.keys()]
    names = {
        name.partition(".")[0]
        for one in (function, *near)
        for part in ast.walk(one)
        for name in (
            [alias.name for alias in part.names]
            if isinstance(part, ast.Import)
            else [part.module or ""]
            if isinstance(part, ast.ImportFrom) and not part.level
            else []
        )
    }
    return bool(names - sys.stdlib_module_names - {package})


def _is_possible(call: CallInput, subject: TargetFunction) -> bool:
    """Return False for a call of a namesake that belongs to another object.

    Such an object is a module or a built-in type; for a method with a common name, it is anything
    that is not made by the class.
    """
    if subject.owner is None or call.source == "docstring" or call.fixtures:
        return True
    if subject.owner.name in " ".join((call.call, *call.setup)):
        return True
    root = re.split(r"\W", call.call, maxsplit=1)[0]
    is_foreign = not root or hasattr(builtins, root) or root in sys.stdlib_module_names
    return not is_foreign and subject.function.name not in COMMON_NAMES


def _effects(function: FunctionNode, tree: ast.Module) -> str:
    """Return the reason a call cannot be repeated with the same result, or an empty string."""
    called = _called_names(function, tree)
    if called & _EFFECTS or _asks_service(function):
        return WITH_EFFECTS
    changes = bool({*called, function.name} & _CHANGING)
    changes = changes or _reads_version(function) or _writes_global(function)
    return CHANGING if changes else ""


def _asks_service(function: FunctionNode) -> bool:
    """Return True if a method calls something that an object such as a client provides."""
    for one in ast.walk(function):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            first, *parts = ast.unparse(one.func.value).split(".")
            if first in ("self", "cls") and any(part.lstrip("_") in _SERVICES for part in parts):
                return True
    return False


def _writes_global(function: FunctionNode) -> bool:
    return any(isinstance(one, ast.Global) for one in ast.walk(function))


def _has_result(function: FunctionNode) -> bool:
    """Return True if the function returns or yields a value."""
    return any(
        isinstance(one, ast.Yield | ast.YieldFrom)
        or (isinstance(one, ast.Return) and one.value is not None)
        for one in own_nodes(function.body)
    )


def _makes_function(function: FunctionNode) -> bool:
    """Return True if the function returns nested functions, and no other values."""
    nested = {one.name for one in ast.walk(function) if isinstance(one, FunctionNode)}
    own = [*own_nodes(function.body)]
    values = [one.value for one in own if isinstance(one, ast.Return) and one.value is not None]
    yields = any(isinstance(one, ast.Yield | ast.YieldFrom) for one in own)
    return bool(values) and not yields and all(_is_function(one, nested) for one in values)


def _is_function(value: ast.expr, nested: set[str]) -> bool:
    return isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in nested)


def _returns_functions(function: FunctionNode, functions: Mapping[str, FunctionNode]) -> bool:
    """Return True if all results are results of decorators or of what a decorator has changed."""
    returned = [one.value for one in own_nodes(function.body) if isinstance(one, ast.Return)]
    calls = [one.func for one in returned if isinstance(one, ast.Call)]
    names = {getattr(one, "id", "") for one in calls if not isinstance(one, ast.Call)}
    return 0 < len(calls) == len(returned) and all(
        name in functions and _is_wrapped(functions[name]) for name in names
    )


def _is_wrapped(function: FunctionNode) -> bool:
    """Return True if a decorator may change the parameters or the result."""
    names = {ast.unparse(one).partition("(")[0] for one in function.decorator_list}
    return any(name.rpartition(".")[2] not in _TRANSPARENT for name in names)
