"""Nodes that tests executed, as reported by the test process."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, Node
from remora.errors import HostError
from remora.operations.test.runner.parent import TracedTest
from remora.tools.tree import ToolTree

MAX_NODES = 400
"""Maximum number of nodes per test, and of calls. Beyond it, nothing is reported."""


class ObservedRun(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that tests executed.

    `tests` maps each test id to the keys of the functions that it ran, starting with the test itself.
    `calls` contains the caller's key, the callee's key and the line of each call.
    """

    tests: dict[str, list[str]] = {}
    calls: list[tuple[str, str, int]] = []


def observed_run(place: ToolTree, traced: Mapping[str, Any], most: int = MAX_NODES) -> ObservedRun:
    """Return the nodes that tests executed, or nothing if they are more than `most`.

    `traced` maps pytest ids to the data of their `TracedTest`.
    """
    files = _Files(place)
    tests: dict[str, list[str]] = {}
    calls: dict[tuple[str, str, int], None] = {}
    for name, each in traced.items():
        found = msgspec.convert(each, TracedTest)
        nodes = [files.node(*code) for code in found.codes]
        own = next((node for node in nodes if node and _is_own(name, node)), None)
        if own is None:
            continue
        ran = [node.key for node in nodes if node and node.node_type == "function"]
        test = name.partition("[")[0]
        tests[test] = list(dict.fromkeys([*tests.get(test, [own.key]), *ran]))
        calls.update(dict.fromkeys(_calls(found, nodes)))
    if len(calls) > most or any(len(ran) > most for ran in tests.values()):
        return ObservedRun()
    return ObservedRun(tests=tests, calls=sorted(calls))


def _is_own(name: str, node: Node) -> bool:
    path, _, inner = name.partition("::")
    return node.path == path and node.qualname == inner.partition("[")[0].replace("::", ".")


def _calls(test: TracedTest, nodes: Sequence[Node | None]) -> Iterator[tuple[str, str, int]]:
    for caller, line, callee in test.calls:
        if not (0 <= caller < len(nodes) and 0 <= callee < len(nodes)):
            continue
        one, other = nodes[caller], nodes[callee]
        inner = test.codes[callee][2].startswith("<")
        if one is None or other is None or inner or other.node_type != "function":
            continue
        if one.line_start <= line <= one.line_end:
            yield one.key, other.key, line


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
