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
            "index and none could be created in the user's cache (XDG_CACHE_HOME)"
        )
    if known.complete and control.running(places) is not None:
        return "computing the links takes too long at the moment; try again"
    if known.complete:
        return (
            "computing the links takes too long because files have changed; "
            "`remora hub index --links` updates them"
        )
    reason = (
        "computing the links takes too long because some links of this project are not stored yet"
    )
    far = f"{known.found:,} of {known.nodes:,} nodes so far"
    if control.running(places) is not None:
        return f"{reason}; the daemon stores them while no files change ({far})"
    return (
        f"{reason} ({far}); `remora hub index --links` stores them now, and a daemon "
        "(`remora hub start`) does so in the background"
    )
