"""The functions of the project that tests enter, as the test process traced them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remora.code.extract import parse_module
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.nodes import Module, Node
from remora.errors import HostError
from remora.judges.runner.parent import TracedTest
from remora.tools.tree import ToolTree

Entered = Mapping[str, list[str]]
"""Keys of functions by the ID of the test, those that the test itself calls first."""


def entered_functions(place: ToolTree, traced: Mapping[str, Any]) -> Entered:
    """Return the functions that each test entered, without those of tests.

    `traced` maps pytest ids to the data of their `TracedTest`. The rows of a table are one test.
    """
    files, found = _Files(place), dict[str, dict[str, None]]()
    for name, data in traced.items():
        traced_test = msgspec.convert(data, TracedTest)
        nodes = dict(enumerate(files.node(*code) for code in traced_test.codes))
        own = next((node for node in nodes.values() if node and _is_own(name, node)), None)
        if own is None:
            continue
        called = [callee for caller, _, callee in traced_test.calls if nodes.get(caller) == own]
        entered = (nodes.get(number) for number in (*called, *nodes))
        keys = (
            node.key
            for node in entered
            if node and node.node_type == "function" and not is_of_tests(node.path)
        )
        found.setdefault(name.partition("[")[0], {}).update(dict.fromkeys(keys))
    return {test: [*keys] for test, keys in found.items()}


def _is_own(name: str, node: Node) -> bool:
    path, _, inner = name.partition("::")
    return node.path == path and node.qualname == inner.partition("[")[0].replace("::", ".")


class _Files:
    """Parsed files of the tree."""

    def __init__(self, place: ToolTree) -> None:
        self._place = place
        self._modules: dict[str, Module | None] = {}

    def node(self, path: str, line: int, name: str) -> Node | None:
        """Return the definition that starts at a line.

        For a lambda or a comprehension, return the enclosing definition.
        """
        module = self._module(path)
        if module is None:
            return None
        if name == "<module>":
            return module.nodes[0]
        if name.startswith("<"):
            holding = [n for n in module.nodes[1:] if n.line_start <= line <= n.line_end]
            return holding[-1] if holding else module.nodes[0]
        fits = (node for node in module.nodes[1:] if node.line_start == line)
        return next(
            (n for n in fits if n.qualname.rpartition(".")[2].partition("#")[0] == name), None
        )

    def _module(self, path: str) -> Module | None:
        if path not in self._modules:
            try:
                module = parse_module(path, self._place.read(path))
            except HostError:
                module = None
            self._modules[path] = module if isinstance(module, Module) else None
        return self._modules[path]
