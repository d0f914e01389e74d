"""Progress of precomputed links, and why some links are unknown."""

from typing import NamedTuple

from remora.hub.process import control
from remora.hub.process.hub_paths import HubPlaces
from remora.hub.store.reader import open_snapshot


class LinkCount(NamedTuple):
    """`found`: nodes whose links are stored, of all `nodes`; `complete`: links are told from there."""

    found: int
    nodes: int
    complete: bool


def linked(places: HubPlaces) -> LinkCount | None:
    """Return the progress of links; None where the database cannot be read."""
    view = open_snapshot(places.db)
    if view is None:
        return None
    try:
        return LinkCount(*view.linked(), complete=view.links().complete())
    finally:
        view.close()


def why_unknown(places: HubPlaces) -> str:
    """Why links could not be told, and what helps."""
    known = linked(places)
    if known is None:
        return (
            "only the file itself could be read: there is no index, and none could be made "
            "(`--db FILE` names another place)"
        )
    if known.complete and control.running(places) is not None:
        return "finding them takes too long at the moment: retry"
    if known.complete:
        return (
            "finding them takes too long, since files have changed: `remora hub index --links` "
            "finds the links of what changed"
        )
    said = "finding them takes too long as long as the links of this project are not all stored"
    far = f"{known.found:,} of {known.nodes:,} nodes so far"
    if control.running(places) is not None:
        return f"{said}; the daemon finds them while nobody edits: {far}"
    return (
        f"{said} ({far}): `remora hub index --links` finds them at once, a daemon by itself "
        "(`remora hub start`)"
    )
