"""Nodes with a missing or outdated docstring."""

import re
from collections.abc import Mapping

from remora.code.pytest_model.pytest_file import is_conftest, is_test_file
from remora.code.syntax.nodes import Module, Node
from remora.ids import NodeKey

_TEST_FOLDERS = frozenset(("test", "tests", "testing"))
_UNDOCUMENTED_DECORATORS = re.compile(
    r"@(?:[\w.]*\.)?(?:overload|override|setter|deleter|getter|_)\b"
)
_WORD = re.compile(r"\w+")
_REPEAT = re.compile(r"#\d+$")


def needs_docstring(module: Module, node: Node) -> bool:
    """Return True if the docstring is missing or outdated."""
    if node.docstring is not None:
        return node.docstring_outdated
    if is_test(module.path):
        return False
    by_key = {each.key: each for each in module.nodes}
    if node.node_type == "module":
        return any(_is_public(each, by_key) for each in module.nodes[1:])
    return _is_public(node, by_key)


def is_test(path: str) -> bool:
    """Return True if the file belongs to the project's tests."""
    folders = path.split("/")[:-1]
    in_folder = not _TEST_FOLDERS.isdisjoint(folders)
    return in_folder or is_test_file(path) or is_conftest(path)


def _is_public(node: Node, by_key: Mapping[NodeKey, Node]) -> bool:
    """Return True for public nodes outside functions, unless another docstring covers them."""
    if any(_UNDOCUMENTED_DECORATORS.match(decorator) for decorator in node.decorators):
        return False
    parts = [_REPEAT.sub("", part) for part in node.qualname.split(".")]
    if any(part.startswith("_") for part in parts):  # private or special
        return False
    above = by_key.get(node.parent) if node.parent is not None else None
    if above is not None and _inherits(node, above, by_key):
        return False
    while above is not None and above.node_type == "class":
        above = by_key.get(above.parent) if above.parent is not None else None
    return above is None or above.node_type == "module"


def _inherits(node: Node, holder: Node, by_key: Mapping[NodeKey, Node]) -> bool:
    """Return True if a base class in the same file documents a method with the same name."""
    if node.node_type != "function" or holder.node_type != "class":
        return False
    bases = _WORD.findall((holder.signature or "").partition("(")[2])
    name = node.qualname.rpartition(".")[2]
    path = node.key.rpartition(":")[0]
    methods = (by_key.get(NodeKey(f"{path}:{base}.{name}")) for base in bases)
    return any(method is not None and method.docstring is not None for method in methods)
