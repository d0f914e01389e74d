"""Number of missing annotations of each function that have a likely candidate."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from remora.code.folders import BESIDE, is_vendored
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.nodes import Module, Node
from remora.errors import ConfigError, HostError
from remora.operations.base import Amount, JudgedAmount
from remora.operations.types.checker.judge import Key
from remora.operations.types.checker.pyrefly import PyreflyError, check_pyrefly
from remora.operations.types.checker.type_checker import check_ty
from remora.operations.types.session import Session, project_texts, session_for
from remora.operations.types.source.slots import SourceText
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.module_names import module_name
from remora.tools.host.ruff.config_files import supports_python_2
from remora.tools.tree import ToolTree

_BUILD = frozenset(
    ("setup.py", "noxfile.py", "conf.py", "versioneer.py", "hatch_build.py", "tasks.py")
)
_TESTS = frozenset(("test.py", "tests.py"))
_IMPORTS_TESTS = re.compile(r"^\s*(?:import|from) (?:unittest|pytest|django\.test)\b", re.MULTILINE)
_STUB_FOLDER = re.compile(r"^(?:stubs|typings)/|-stubs(?=/)")
_UNLIKELY = "whose annotations are not likely enough"
_TY_FAILS = "in files on which ty fails"
_PYREFLY_FAILS = "in files on which pyrefly fails"
_IN_STUBS = "whose types are in a stub file"


def unannotated(place: ToolTree, modules: Sequence[Module], options: Mapping[str, Any]) -> Amount:
    """Return a function that counts the annotations of a node that are likely enough.

    If the option `open` is True, a model can write others, and all missing ones count.
    The type checker may still refuse them. Tests, examples, documentation and copied code are left
    out with a reason, unless only such files are selected. So are files with a stub file, files on
    which the type checker fails, and projects that support Python 2, which has no annotations.
    Raises ConfigError if the type checker fails on everything, and UsageError if it is not
    installed. If pyrefly fails on everything, that is the reason for all functions.
    """
    check_ty()
    check_pyrefly()
    if place.once(supports_python_2):
        return _in_python_2
    try:
        return _likely_amount(place, modules, options)
    except PyreflyError as error:
        return partial(_without_pyrefly, error.message)


def _likely_amount(
    place: ToolTree, modules: Sequence[Module], options: Mapping[str, Any]
) -> Amount:
    python: ProjectPython | None = options.get("python")
    python = structs.replace(python, root=place.tree) if python is not None else None
    texts = project_texts(place)
    paths = [module.path for module in modules]
    beside = {path: why_left_out(path, texts) for path in paths}
    stubbed = _stubbed_modules(texts)
    own = [path for path in paths if not beside[path]]
    own = [path for path in own or paths if module_name(path) not in stubbed]
    session, found = _selected(place, texts, inferred_with(own, texts) if own else own)
    can_write = bool(options.get("open"))
    failing = {} if can_write else dict.fromkeys(session.checker.unread, _PYREFLY_FAILS)
    failing |= dict.fromkeys(session.checker.left_out, _TY_FAILS)
    likely: dict[str, Counter[int]] = {path: Counter() for path in own if path not in failing}
    for path, slot in found:
        if path in likely:
            likely[path][slot.number] += 1
    lines: dict[str, Counter[int]] = {}
    missing: dict[str, Counter[int]] = {}

    def amount(module: Module, node: Node) -> int | str:
        if node.node_type != "function" or module.path not in texts:
            return 0
        if module.path not in lines:
            shown = None if can_write else likely.get(module.path)
            lines[module.path] = _by_line(texts[module.path], shown)
            missing[module.path] = _by_line(texts[module.path], None)
        count = _within(lines[module.path], node)
        if count and module.path not in likely:
            return beside[module.path] or failing.get(module.path, _IN_STUBS)
        return count or (_UNLIKELY if _within(missing[module.path], node) else 0)

    is_judged = any(likely.values()) or can_write
    return JudgedAmount(amount=amount, judges=session.judges_with(python)) if is_judged else amount


def _selected(
    place: ToolTree, texts: Mapping[str, str], paths: Sequence[str]
) -> tuple[Session, list[Key]]:
    """Return the session for a tree, and the slots in some files that are worth annotating."""
    try:
        session = session_for(place, texts)
        return session, session.select(paths) if paths else []
    except PyreflyError:
        raise
    except HostError as error:
        raise ConfigError(error.message) from error


def inferred_with(paths: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """Return the files that are inferred together with some files, whether they are selected or not.

    These are the files that are not left out, or all if some of `paths` are.
    """
    stubbed = _stubbed_modules(texts)
    own = (path for path in texts if path.endswith(".py") and not why_left_out(path, texts))
    found = [path for path in own if module_name(path) not in stubbed]
    return found if {*paths} <= {*found} else list(texts)


def _stubbed_modules(texts: Mapping[str, str]) -> set[str]:
    """Return the modules whose types are in a stub file, beside them or in a stub package."""
    stubs = (_STUB_FOLDER.sub("", path.removesuffix("i")) for path in texts if path[-1:] == "i")
    return {module_name(path) for path in stubs} - {""}


def _within(lines: Mapping[int, int], node: Node) -> int:
    inside = range(node.line_start, node.line_end + 1)
    return sum(number for line, number in lines.items() if line in inside)


def _by_line(text: str, likely: Mapping[int, int] | None) -> Counter[int]:
    """Return the number of likely annotations, or else of missing ones, by the line of `def`."""
    source = SourceText(text)
    numbers = Counter(slot.number for slot in source.slots) if likely is None else likely
    return Counter({source.functions[number][1].lineno: n for number, n in numbers.items()})


def why_left_out(path: str, texts: Mapping[str, str]) -> str:
    """Return what a file contains that is not part of what a project provides, or nothing.

    The operation leaves such files out.
    """
    if _has_tests(path, texts):
        return "in test code"
    if path in _BUILD:
        return "in build scripts"
    if is_vendored(path):
        return "in code of other projects"
    is_beside = not BESIDE.isdisjoint(path.split("/")[:-1])
    return "in examples, documentation or benchmarks" if is_beside else ""


def _has_tests(path: str, texts: Mapping[str, str]) -> bool:
    """Return True for test code, also in a `tests.py` that imports what tests need."""
    by_name = path.rpartition("/")[2] in _TESTS and _IMPORTS_TESTS.search(texts.get(path, ""))
    return is_of_tests(path) or bool(by_name)


def _in_python_2(_module: Module, node: Node) -> int | str:
    return "in a project that supports Python 2" if node.node_type == "function" else 0


def _without_pyrefly(why: str, _module: Module, node: Node) -> int | str:
    return f"without candidates, because {why}" if node.node_type == "function" else 0
