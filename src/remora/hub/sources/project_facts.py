"""Facts about all nodes of a project, and which of them tests reach."""

from collections.abc import Iterable
from typing import NamedTuple

from remora.code.file_facts import NodeFacts
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.pytest_model.related_tests import DEPTH
from remora.hub.observed_links import observed_tests
from remora.hub.query.snapshots import OverlaidSnapshot
from remora.hub.store.stored_links import StoredLinks
from remora.ids import split_node_key


class ProjectFacts(NamedTuple):
    """Facts of all nodes, file by file in source order.

    `reached` contains the nodes that tests reach through stored or observed links. It is None if
    the links of the present files are not stored, and no tests were observed.
    """

    nodes: tuple[NodeFacts, ...]
    reached: frozenset[str] | None


def project_facts(view: OverlaidSnapshot) -> ProjectFacts:
    """Return the facts of a snapshot. Links are not computed."""
    nodes = tuple(node.facts for path in sorted(view.paths()) for node in view.nodes(path))
    stored = view.links()
    links = stored.all() if isinstance(stored, StoredLinks) else None
    reached = frozenset() if links is None else reached_from_tests(links)
    observed = [
        node.key for node in nodes if node.key not in reached and observed_tests(view, node.key)
    ]
    is_known = links is not None or bool(observed)
    return ProjectFacts(nodes, reached.union(observed) if is_known else None)


def reached_from_tests(links: Iterable[tuple[str, str]], depth: int = DEPTH) -> frozenset[str]:
    """Return the keys that are within `depth` links of any code of the project's tests.

    Links are pairs of the keys of a source and a target.
    """
    targets: dict[str, list[str]] = {}
    level = set()
    for source, target in links:
        targets.setdefault(source, []).append(target)
        if is_of_tests(split_node_key(source)[0]):
            level.add(source)
    reached = set(level)
    for _ in range(depth):
        level = {target for source in level for target in targets.get(source, ())} - reached
        reached |= level
    return frozenset(reached)
