"""What was seen while tests ran, in terms of nodes: the records that the store keeps."""

import msgspec

from remora.code.facts import NodeFacts


class ObservedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One node was seen to call another.

    `anchor` is the caller's (see `anchor_of`); the call is forgotten when it changes. `above_end`:
    the lines of the calls, as lines above the caller's last one (0: on it), ascending, each once:
    so they hold when the caller moves, or gets another docstring. The line of such a call now is
    `line_start + line_count - 1 - above_end`.
    """

    caller: str
    callee: str
    anchor: str
    above_end: tuple[int, ...]


class ObservedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test entered a node.

    `id` is pytest's without parameters, its path relative to the root; `test` is the node of the
    test's own function, and `anchor` that node's: forgotten when it changes.
    """

    node: str
    id: str
    test: str
    anchor: str


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run showed. `ran`: ids of the tests that ran to their end: what was known of
    these is replaced by `tests`. Calls are added to the known ones."""

    calls: tuple[ObservedCall, ...]
    tests: tuple[ObservedTest, ...]
    ran: tuple[str, ...]


def anchor_of(node: NodeFacts) -> str:
    """The hash with which what was seen of a node stays true: its body's; of a module, whose last
    line may follow its body, the whole file's."""
    return node.source_hash if node.node_type == "module" else node.body_hash
