"""Nodes whose docstring can be written or corrected, and the contradictions of all docstrings."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from remora.code.docstrings.documented_node import DocumentedNode, find_documented
from remora.code.docstrings.documented_results import always_raises
from remora.code.docstrings.related_texts import RelatedTexts
from remora.code.folders import is_vendored
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.nodes import Module, Node
from remora.errors import HostError
from remora.ids import display_name
from remora.judges.judged_change import ReportedFinding
from remora.operations.base import CONTRADICTS, NEEDS_NAME, NEEDS_WRITER, Amount
from remora.operations.docstring.docstring_writer import is_writable
from remora.operations.docstring.host_docstring import (
    exception_classes,
    folder_texts,
    related_texts,
)
from remora.operations.docstring.mend import update_plan
from remora.tools.tree import ToolTree

_UNDOCUMENTED_DECORATORS = re.compile(
    r"@(?:[\w.]*\.)?(?:overload|override|setter|deleter|getter|_)\b"
)
_NOT_ASKED = "without a docstring, which a small model is not asked for"
_REPEAT = re.compile(r"#\d+$")
_FOLDERS = 64
"""Folders whose texts are kept: files are planned in the order of their paths, nested ones between."""


def docstring_work(
    place: ToolTree, _modules: Sequence[Module], options: Mapping[str, Any]
) -> Amount:
    """Return a function that returns 1 for nodes with work that the agent can do.

    A missing docstring needs a writer, so it is work only if the option `open` is True. With
    `guided`, it must be a function that does more than raise, and the user must have named it or its
    file: readers reject most docstrings of small models. Copied code is left alone, and test code,
    because tests may be about docstrings.
    """
    nodes, can_write = _Nodes(place), bool(options.get("open"))
    is_guided = can_write and bool(options.get("guided"))
    for_writer = 1 if can_write else NEEDS_WRITER
    if_missing = for_writer if not is_guided or options.get("named") else NEEDS_NAME

    def amount(module: Module, node: Node) -> int | str:
        has_work = node.docstring is not None or lacks_docstring(module, node)
        found = nodes.find(module, node) if has_work and not _is_left_alone(module) else None
        if found is None:
            return 0
        if found.text is None:
            if found.related.inherits_docstring(found.node.name):
                return 0
            is_odd = isinstance(found.node, ast.ClassDef) or always_raises(found.node.body)
            return _NOT_ASKED if is_guided and is_odd else if_missing
        plan = update_plan(found)
        if plan.mend and is_writable(found):
            return 1
        if plan.left:
            return NEEDS_WRITER if is_guided else for_writer
        said = [f"{display_name(node.key)}: {wrong.message}" for wrong in found.contradictions[:1]]
        return ": ".join((CONTRADICTS, *said)) if said or plan.mend else 0

    return amount


def reported_contradictions(
    place: ToolTree, modules: Sequence[Module], _options: Mapping[str, Any]
) -> Iterator[ReportedFinding]:
    """Yield the contradictions between docstrings and code, without those of tests and copied code."""
    nodes = _Nodes(place)
    for module in modules:
        for node in () if _is_left_alone(module) else module.nodes:
            is_left = node.skip or node.docstring is None
            found = None if is_left else nodes.find(module, node)
            if found is None:
                continue
            for contradiction in found.contradictions:
                yield ReportedFinding(
                    path=module.path,
                    line=found.line_of(contradiction.line),
                    node_id=node.key,
                    code=contradiction.code,
                    message=contradiction.message,
                )


def _is_left_alone(module: Module) -> bool:
    return is_of_tests(module.path) or is_vendored(module.path)


class _Nodes:
    """Finds the documented nodes of a tree. A file and the related texts of a folder are read once."""

    def __init__(self, place: ToolTree) -> None:
        self._place = place
        self._path = ""
        self._content = b""
        self._related = RelatedTexts()
        self._classes = exception_classes(self._place)
        self._folders = lru_cache(_FOLDERS)(partial(folder_texts, self._place))

    def find(self, module: Module, node: Node) -> DocumentedNode | None:
        """Return a node, or None for modules and for those of an unreadable file."""
        if node.node_type == "module":
            return None
        try:
            self._read(module.path)
            return find_documented(module.path, self._content, node.qualname, self._related)
        except HostError:  # such as a file that is too large
            return None

    def _read(self, path: str) -> None:
        if self._path != path:
            content = self._place.read(path)
            related = related_texts(path, content, self._folders, self._classes)
            self._path, self._content, self._related = path, content, related


def lacks_docstring(module: Module, node: Node) -> bool:
    """Return True if the node has no docstring but should have one, or inherit one."""
    if node.docstring is not None or node.node_type == "module" or is_of_tests(module.path):
        return False
    return _is_public(node, module.by_key)


def _is_public(node: Node, by_key: Mapping[str, Node]) -> bool:
    """Return True for public nodes outside functions, unless they are parts of another one."""
    if any(_UNDOCUMENTED_DECORATORS.match(decorator) for decorator in node.decorators):
        return False
    parts = [_REPEAT.sub("", part) for part in node.qualname.split(".")]
    if any(part.startswith("_") for part in parts):  # private or special
        return False
    above = by_key.get(node.parent) if node.parent is not None else None
    while above is not None and above.node_type == "class":
        above = by_key.get(above.parent) if above.parent is not None else None
    return above is None or above.node_type == "module"
