"""Observed calls and tests. They are valid as long as the code is unchanged."""

import msgspec

from remora.code.file_facts import NodeFacts
from remora.hub.node import ObservedValues


class ObservedCall(msgspec.Struct, frozen=True, kw_only=True):
    """An observed call. It is dropped when the `anchor` of its caller changes.

    `above_end` holds the line offsets of the calls, sorted and without duplicates. They are counted
    upward from the caller's last line, whose offset is 0. The current line number is `line_start +
    line_count - 1 - above_end`. It stays correct when the caller moves or its docstring changes.
    """

    caller: str
    callee: str
    anchor: str
    above_end: tuple[int, ...]


class ObservedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test that entered a node. It is dropped when the `anchor` of the node `test` changes.

    `id` is the pytest id without parameters. Its path is relative to the root.
    """

    node: str
    id: str
    test: str
    anchor: str


class ObservedFunction(msgspec.Struct, frozen=True, kw_only=True):
    """Types of the values that a function was seen to take and return. Dropped when its `anchor` changes."""

    node: str
    anchor: str
    values: ObservedValues


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """All calls, tests and values observed in a run.

    `tests` replaces earlier records of the tests in `ran`.
    """

    calls: tuple[ObservedCall, ...]
    tests: tuple[ObservedTest, ...]
    ran: tuple[str, ...]
    functions: tuple[ObservedFunction, ...] = ()


MAX_TYPES = 8
"""Maximum types of a parameter or result."""


def merge_values(first: ObservedValues, second: ObservedValues) -> ObservedValues:
    """Return the union of two observations of a function, within the limits."""
    names = {**first.parameters, **second.parameters}
    empty: tuple[str, ...] = ()
    return ObservedValues(
        parameters={
            name: _union(first.parameters.get(name, empty), second.parameters.get(name, empty))
            for name in names
        },
        returns=_union(first.returns, second.returns),
        yields=_union(first.yields, second.yields),
    )


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))[:MAX_TYPES]


def anchor_of(node: NodeFacts) -> str:
    """Return the hash of a node's body, or the source hash of a module.

    A module's body hash cannot be used, because the module's last line may be after its body.
    """
    return node.source_hash if node.node_type == "module" else node.body_hash
