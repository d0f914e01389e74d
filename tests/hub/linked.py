"""Links found ahead, in the test's own process."""

from remora.hub.linking import begin_round, find_links
from remora.hub.store import HubStore


def link(store: HubStore) -> int:
    """Find whatever links are missing; how many nodes that were."""
    about = begin_round(store._db)
    links, base = store.links(), about.beginning.base
    assert links.begin(about.beginning)
    found = 0
    for portion in find_links(about):
        assert links.put(base, portion)
        found += len(portion.links)
    assert links.end(base)
    return found
