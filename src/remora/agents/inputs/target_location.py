"""Locates the target node in the workspace. Its lines move as the agent edits the file."""

from collections.abc import Iterable
from typing import Any

from remora.agents.job import Job
from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, find_node, lines_of_nodes
from remora.ids import split_node_key


def locate_target(
    job: Job, source: bytes | None, last_known: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the `target` input for scripts.

    Its keys are `path`, `node`, `key`, `type`, `first`, `last`, `own` and `nodes`. `nodes` contains
    the qualnames of the nodes that the job works on, and is empty for all nodes of the file. `own`
    contains the first and last line of each range that belongs to these nodes rather than to a
    nested node. If the file does not parse or no longer contains the node, `last_known` is
    returned.
    """
    module = parse_module(job.path, source) if source is not None else None
    if isinstance(module, Module):
        node = find_node(module, job.node_id)
        if node is not None:
            own = lines_of_nodes(module, (node.key,) if job.nodes is None else job.nodes)
            return _target(job, node.line_start, node.line_end, line_ranges(own))
    return last_known or _target(job, 1, 0, [])


def last_known_target(job: Job, sources: Iterable[bytes | None]) -> dict[str, Any]:
    """Return the node's location in the last of `sources` that parses and contains the node."""
    found = None
    for source in sources:
        found = locate_target(job, source, found)
    return found or _target(job, 1, 0, [])


def line_ranges(lines: frozenset[int]) -> list[list[int]]:
    """Return consecutive line numbers as `[first, last]` pairs, in ascending order."""
    found: list[list[int]] = []
    for line in sorted(lines):
        if found and found[-1][1] == line - 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found


def _target(job: Job, first: int, last: int, own: list[list[int]]) -> dict[str, Any]:
    nodes = (job.node_id,) if job.nodes is None else job.nodes
    return {
        "path": job.path,
        "node": job.qualname,
        "key": job.node_id,
        "type": job.node_type,
        "first": first,
        "last": last,
        "own": own,
        "nodes": [split_node_key(key)[1] for key in nodes],
    }
