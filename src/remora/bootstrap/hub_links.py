"""What is to be said of links beyond the answers: how far they are found, and where a class is made."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from remora.code.facts import FileFacts
from remora.hub.access import control
from remora.hub.access.places import HubPlaces
from remora.hub.cold import read_cold
from remora.hub.members import Members
from remora.hub.store import StoreView, open_view
from remora.hub.view import OverlaidView
from remora.ids import spell_path


class LinkCount(NamedTuple):
    """`found`: nodes whose links are stored, of all `nodes`; `complete`: links are told from there."""

    found: int
    nodes: int
    complete: bool


def linked(places: HubPlaces) -> LinkCount | None:
    """How far the links are; None where the database cannot be read."""
    view = open_view(places.db)
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
        return "only the file itself could be looked at: there is no index that can be read"
    if known.complete and control.running(places) is not None:
        return "finding them takes too long just now: ask again"
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


def constructor(places: HubPlaces, exclude: Sequence[str], key: str) -> str | None:
    """The key of the `__init__` that is called to make an instance of a class; None for what is no
    class, or has none in the project."""
    from remora.code.resolve import Linker  # with all that links

    view = open_view(places.db)
    if view is None:
        return None
    try:
        return Linker(OverlaidView(view, _changed(places.root, exclude, view))).constructor(key)
    finally:
        view.close()


def _changed(root: Path, exclude: Sequence[str], view: StoreView) -> Mapping[str, FileFacts | None]:
    """Files that are not as they are stored, by spelled path: without a daemon nobody stores them."""
    now, rows = Members(root, exclude).sweep(), view.files()
    moved = [path for path, stamp in now.items() if path not in rows or rows[path].stamp != stamp]
    return {
        **{spell_path(path): None for path in rows.keys() - now.keys()},
        **read_cold(root, moved),
    }
