"""Number of missing annotations of each function that have a likely candidate."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from remora.code.folders import BESIDE, is_vendored
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.nodes import Module, Node
from remora.errors import ConfigError, HostError
from remora.judges.types.accepted_annotations import Key
from remora.judges.types.project_index import ProjectIndex
from remora.operations.base import Amount, DescribedAmount
from remora.operations.types.pyrefly import PyreflyError, check_installed
from remora.operations.types.refusals import may_read_annotations
from remora.operations.types.session import Session, project_texts, session_for
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.declared_type_checker import declared_checker
from remora.tools.host.module_names import module_name
from remora.tools.host.ruff.config_files import supports_python_2
from remora.tools.tree import ToolTree

_BUILD = frozenset(
    ("setup.py", "noxfile.py", "conf.py", "versioneer.py", "hatch_build.py", "tasks.py")
)
_TESTS = frozenset(("test.py", "tests.py"))
_IMPORTS_TESTS = re.compile(r"^\s*(?:import|from) (?:unittest|pytest|django\.test)\b", re.MULTILINE)
_STUB_FOLDER = re.compile(r"^(?:stubs|typings)/|-stubs(?=/)")
_FEW, _SHARE = 20, 20
"""Functions that show a habit, and one in how many has types: from readings, not measured."""
_UNTYPED = (
    f"in a project with annotations in fewer than one function in {_SHARE};"
    " name files to have types there"
)
_UNLIKELY = "whose annotations are not likely enough"
_TY_FAILS = "in files on which ty fails"
_PYREFLY_FAILS = "in files on which pyrefly fails"
_IN_STUBS = "whose types are in a stub file"


def unannotated(place: ToolTree, modules: Sequence[Module], options: Mapping[str, Any]) -> Amount:
    """Return a function that counts the annotations of a node that are likely enough.

    If the option `open` is True, a model can write others, and all count that no decorator may read.
    The type checker may still refuse them. Tests, examples, documentation and copied code are left
    out with a reason, unless only such files are selected. So are files with a stub file, files on
    which the type checker fails, projects that support Python 2, which has no annotations, and
    projects with few annotations, unless the option `named` is True: the user named files.
    Raises ConfigError if the type checker fails on everything, and UsageError if it is not
    installed. If pyrefly fails on everything, that is the reason for all functions.
    """
    check_installed("ty")
    check_installed("pyrefly")
    if place.once(supports_python_2):
        return partial(_left_out, "in a project that supports Python 2")
    try:
        return _likely_amount(place, modules, options)
    except PyreflyError as error:
        return partial(_left_out, f"without candidates, because {error.message}")
    except HostError as error:
        raise ConfigError(error.message) from error


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
    session = session_for(place, texts)
    found = session.select(inferred_with(own, texts)) if own else []
    if not options.get("named", True) and not _has_types(place, session.index, texts):
        return partial(_left_out, _UNTYPED)
    can_write = bool(options.get("open"))
    failing = {} if can_write else dict.fromkeys(session.unread, _PYREFLY_FAILS)
    failing |= dict.fromkeys(session.checker.left_out, _TY_FAILS)
    judged = {path for path in own if path not in failing}
    files = {path: file for path, file in session.index.files.items() if path in beside}
    slots = [(path, slot) for path in files for slot in files[path].source.slots]
    missing = _by_function(session, slots)
    if can_write:
        found = [(p, s) for p, s in slots if not may_read_annotations(files[p].functions[s.number])]
    likely = _by_function(session, [key for key in found if key[0] in judged])

    def amount(module: Module, node: Node) -> int | str:
        key = module.path, node.qualname
        if node.node_type != "function" or not missing[key]:
            return 0
        if module.path not in judged:
            return beside[module.path] or failing.get(module.path, _IN_STUBS)
        return likely[key] or _UNLIKELY

    judges = session.judges_with(python)
    return DescribedAmount(amount=amount, judges=judges) if likely else amount


def _has_types(place: ToolTree, index: ProjectIndex, texts: Mapping[str, str]) -> bool:
    """Return True if what a project provides shows that it wants types, or is small."""
    marked = place.files.glob("**/py.typed")
    if declared_checker(place) or not all(why_left_out(path, texts) for path in marked):
        return True
    own = [index.files[path] for path in inferred_with([], texts) if path in index.files]
    typed = [any(function.terms()) for file in own for function in file.functions]
    return len(typed) < _FEW or sum(typed) * _SHARE >= len(typed)


def _by_function(session: Session, keys: Iterable[Key]) -> Counter[tuple[str, str]]:
    """Count slots by the path and the qualname of their function, and of all around it."""
    found: Counter[tuple[str, str]] = Counter()
    for path, slot in keys:
        names = session.index.files[path].source.qualnames[slot.number].split(".")
        found.update((path, ".".join(names[: end + 1])) for end in range(len(names)))
    return found


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


def why_left_out(path: str, texts: Mapping[str, str]) -> str:
    """Return what a file contains that is not part of what a project provides, or nothing.

    The operation leaves such files out, also a `tests.py` that imports what tests need.
    """
    is_test = path.rpartition("/")[2] in _TESTS and _IMPORTS_TESTS.search(texts.get(path, ""))
    if is_test or is_of_tests(path):
        return "in test code"
    if path in _BUILD:
        return "in build scripts"
    if is_vendored(path):
        return "in code of other projects"
    is_beside = not BESIDE.isdisjoint(path.split("/")[:-1])
    return "in examples, documentation or benchmarks" if is_beside else ""


def _left_out(why: str, _module: Module, node: Node) -> int | str:
    return why if node.node_type == "function" else 0
