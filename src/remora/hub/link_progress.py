"""The progress of precomputing links, and explanations of missing links."""

from typing import NamedTuple

from remora.hub.process import control
from remora.hub.process.hub_paths import HubPaths
from remora.hub.store.reader import read_snapshot


class LinkCount(NamedTuple):
    """The progress of precomputing links.

    `found` is the number of nodes whose links are stored, and `nodes` is the total number of nodes.
    `complete` is True if all links are stored and up to date.
    """

    found: int
    nodes: int
    complete: bool


def read_link_count(places: HubPaths) -> LinkCount | None:
    """Return the progress of precomputing links, or None if the database cannot be read."""
    return read_snapshot(
        places.db, lambda view: LinkCount(*view.linked(), complete=view.links().are_complete())
    )


def why_unknown(places: HubPaths) -> str:
    """Return a message that explains why links are unknown, and what to do about it."""
    known = read_link_count(places)
    if known is None:
        return (
            "only the file itself could be read, because there is no "
            "index and none could be created "
            "(to create it elsewhere, use `--db FILE`)"
        )
    is_running = control.running(places) is not None
    if known.complete and is_running:
        return "computing the links takes too long at the moment; try again"
    stores = "the daemon" if is_running else "a daemon (`remora hub start`)"
    lacks = "files have changed" if known.complete else "some links are not stored yet"
    return (
        f"computing the links takes too long because {lacks}; {stores} stores them while no files "
        f"change ({known.found:,} of {known.nodes:,} nodes so far)"
    )
