"""The root of a project; a module of its own because every command finds it first."""

from collections.abc import Sequence
from os.path import expanduser
from pathlib import Path


def find_root(start: Path, within: Path | None = None) -> Path:
    """Return the project's root for a target file or folder.

    It is the nearest folder with `remora.yaml`, up to the git root; else the git root. Without git
    it is the target folder, unless the target is in `within`, the user's current folder: then it is
    the nearest folder up to that one with `remora.yaml`, else with `pyproject.toml`, else `within`.
    Nothing above is searched: anybody may have put it there.
    """
    target = start.resolve()
    folder = target if target.is_dir() else target.parent
    upwards = [folder, *folder.parents]
    git = next((place for place in upwards if (place / ".git").exists()), None)
    if git is not None:
        return _nearest("remora.yaml", upwards[: upwards.index(git) + 1]) or git
    if within is None or (current := within.resolve()) not in upwards or _is_too_wide(current):
        return folder
    inside = upwards[: upwards.index(current) + 1]
    return _nearest("remora.yaml", inside) or _nearest("pyproject.toml", inside) or current


def _nearest(name: str, folders: Sequence[Path]) -> Path | None:
    return next((folder for folder in folders if (folder / name).is_file()), None)


def _is_too_wide(folder: Path) -> bool:
    """True for the home folder and those above it: all of it would be copied."""
    home = Path(expanduser("~"))  # noqa: PTH111 (Path.home raises where there is none)
    return home.resolve().is_relative_to(folder)
