"""What to say where a name is a path that leads to no node: outside, a folder, no Python, not there."""

import os
from collections.abc import Collection
from pathlib import Path

from remora.code.syntax.node_patterns import nearest
from remora.errors import DiskError, NotFound, RemoraError
from remora.hub.lookup.names import parted
from remora.ids import spell_path

_PYTHON = (".py", ".pyi")


def no_node(name: str, root: Path, folder: Path, paths: Collection[str]) -> RemoraError | None:
    """The error for a name that is a path, typed in `folder`; None where it is none, or leads to a
    file of the project. `paths`: all of these, as keys spell them; empty where nobody knows."""
    path, _ = parted(name)
    if "\0" in path or not path:
        return None
    places = [Path(os.path.abspath(place / path)) for place in (folder, root)]  # noqa: PTH100 (it may be a link)
    found = next(filter(os.path.lexists, places), None)
    if found is None:
        return _missing(path, places[0], root, paths)
    return _unfit(path, found, root, paths)


def _missing(path: str, place: Path, root: Path, paths: Collection[str]) -> RemoraError | None:
    if "/" not in path and not path.endswith(_PYTHON):
        return None
    if not place.is_relative_to(root):
        return _outside(path, root)
    if not path.endswith(_PYTHON) or any(f"/{known}".endswith(f"/{path}") for known in paths):
        return None
    named = path.rpartition("/")[2]
    same = [known for known in paths if known.rpartition("/")[2] == named]
    near = same[:3] or nearest(path, paths)
    hint = (
        f"did you mean {', '.join(near)}?" if near else "`remora hub search WORD` looks for nodes"
    )
    return NotFound(f"there is no file {path}", hint=hint)


def _unfit(path: str, place: Path, root: Path, paths: Collection[str]) -> RemoraError | None:
    """Of something that is there."""
    real = Path(os.path.realpath(place))
    if not (place.is_relative_to(root) or real.is_relative_to(root)):
        return _outside(path, root)
    if place.is_dir():
        word = place.name or path
        return NotFound(
            f"{path} is a folder", hint=f"`remora hub search {word}` finds nodes in its files"
        )
    if not path.endswith(_PYTHON):
        return NotFound(f"{path} is no Python file", hint="only .py files have nodes")
    if not os.access(place, os.R_OK):
        return DiskError(f"{path} cannot be read", hint="look at its permissions")
    known = {
        spell_path(each.relative_to(root).as_posix())
        for each in (place, real)
        if each.is_relative_to(root)
    }
    if paths and not known & set(paths):
        return NotFound(
            f"{path} does not belong to the project",
            hint="it is ignored (by git, or by `exclude` in remora.yaml), or a link",
        )
    return None


def _outside(path: str, root: Path) -> NotFound:
    return NotFound(
        f"{path} lies outside the root, {root}", hint="`--root DIR` asks about another project"
    )
