"""The progress of precomputing links, and explanations of missing links."""

from typing import NamedTuple

from remora.hub.process import control
from remora.hub.process.hub_paths import HubPaths
from remora.hub.store.reader import open_snapshot


class LinkCount(NamedTuple):
    """The progress of precomputing links.

    `found` is the number of nodes whose links are stored, and `nodes` is the number of all nodes.
    `complete` is True if all links are stored and up to date.
    """

    found: int
    nodes: int
    complete: bool


def linked(places: HubPaths) -> LinkCount | None:
    """Return the progress of precomputed links, or None if the database cannot be read."""
    view = open_snapshot(places.db)
    if view is None:
        return None
    try:
        return LinkCount(*view.linked(), complete=view.links().complete())
    finally:
        view.close()


def why_unknown(places: HubPaths) -> str:
    """Return a message that explains why links are unknown, and what to do about it."""
    known = linked(places)
    if known is None:
        return (
            "only the file itself could be read: there is no index, and none could be created "
            "(use `--db FILE` for another location)"
        )
    if known.complete and control.running(places) is not None:
        return "finding them takes too long at the moment: try again"
    if known.complete:
        return (
            "finding them takes too long because files have changed: `remora hub index --links` "
            "updates the links"
        )
    reason = "finding them takes too long until all links of this project are stored"
    far = f"{known.found:,} of {known.nodes:,} nodes so far"
    if control.running(places) is not None:
        return f"{reason}; the daemon precomputes them while no file changes: {far}"
    return (
        f"{reason} ({far}): `remora hub index --links` computes them now, a daemon "
        "(`remora hub start`) in the background"
    )
