"""Errors for unknown names. They suggest similar names or explain what is wrong with a path."""

import os
import re
import shlex
from collections.abc import Collection, Iterable
from pathlib import Path

from remora.errors import DiskError, NotFound, RemoraError
from remora.hub.file_limits import too_large
from remora.hub.lookup.names import split_name
from remora.hub.members.folder_listing import SOURCES
from remora.ids import escape_path
from remora.text import nearest


def path_error(
    name: str, root: Path, folder: Path, paths: Collection[str], *, limit: int
) -> RemoraError | None:
    """Return the error for a path typed in `folder`.

    Returns None for the path of a project file, and for a name that is not a path. `paths` contains
    all files as spelled in keys, or is empty if the files are unknown.
    """
    path, _ = split_name(name)
    if "\0" in path or not path:
        return None
    places = [Path(os.path.abspath(place / path)) for place in (folder, root)]  # noqa: PTH100 (it may be a link)
    if (found := next(filter(os.path.lexists, places), None)) is None:
        return _missing(path, places[0], root, paths)
    is_source = path.endswith(SOURCES) and found.is_file() and found.is_relative_to(root)
    if is_source and found.stat().st_size > limit:
        return NotFound(f"{path} is {too_large(limit)}", hint="raise the limit in remora.yaml")
    return _path_problem(path, found, root, paths)


def _missing(path: str, place: Path, root: Path, paths: Collection[str]) -> RemoraError | None:
    if "/" not in path and not path.endswith(SOURCES):
        return None
    if not place.is_relative_to(root):
        return _outside_error(path, root)
    if not path.endswith(SOURCES) or any(f"/{known}".endswith(f"/{path}") for known in paths):
        return None
    near = nearest(path, paths)
    search = f"use `remora hub search {shlex.quote(Path(path).stem)}` to find nodes"
    hint = f"did you mean {', '.join(near)}?" if near else search
    return NotFound(f"no such file: {path}", hint=hint)


def _path_problem(path: str, place: Path, root: Path, paths: Collection[str]) -> RemoraError | None:
    """Return the error for an existing path, or None if it belongs to the project."""
    real = Path(os.path.realpath(place))
    if not (place.is_relative_to(root) or real.is_relative_to(root)):
        return _outside_error(path, root)
    if place.is_dir():
        word = place.name or path
        return NotFound(
            f"{path} is a folder",
            hint=f"to find nodes in its files, use `remora hub search {word}`",
        )
    if not path.endswith(SOURCES):
        return NotFound(f"{path} is not a Python file", hint="only .py and .pyi files have nodes")
    if not os.access(place, os.R_OK):
        return DiskError(f"{path} cannot be read", hint="check its permissions")
    known = {
        escape_path(file.relative_to(root).as_posix())
        for file in (place, real)
        if file.is_relative_to(root)
    }
    if paths and not known & set(paths):
        return NotFound(
            f"{path} is not part of the project",
            hint="it is a link, or is ignored by git or `exclude` in remora.yaml",
        )
    return None


def _outside_error(path: str, root: Path) -> NotFound:
    return NotFound(
        f"{path} is outside the root, {root}", hint="use `--root DIR` to select another project"
    )


def unknown_node(name: str, keys: Iterable[str]) -> NotFound:
    """Return the error for a name or key that is not in `keys`."""
    near = ", ".join(nearest(name, keys)).replace("node:", "")
    word = shlex.quote(re.split("[:.]", name)[-1])
    hint = f"did you mean {near}?" if near else f"use `remora hub search {word}` to find nodes"
    owner = name.removeprefix("node:").rpartition(":")[0]
    if owner and word.isupper():
        hint = "a constant is not a node: `impact` names its readers"
    return NotFound(f"there is no node {name.removeprefix('node:')}", hint=hint)
