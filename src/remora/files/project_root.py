"""Search for the project root. This module is small because every command imports it first."""

from collections.abc import Sequence
from os.path import expanduser
from pathlib import Path


def find_root(start: Path, within: Path | None = None) -> Path:
    """Return the project root for a target file or folder.

    In a git repository, the root is the nearest folder that contains `remora.yaml`, or else the
    root of the repository. The search stops at the root of the repository.

    Outside a git repository, the root is the target folder, unless the target is in `within`, the
    user's current folder. In that case, the root is the nearest folder that contains `remora.yaml`,
    or else the nearest folder that contains `pyproject.toml`, or else `within`. Folders above
    `within` are not searched, because other users may have put files there.
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


def is_project(root: Path) -> bool:
    """Return True if a folder has a file or a folder that marks the root of a project."""
    return any((root / mark).exists() for mark in (".git", "remora.yaml", "pyproject.toml"))


def _nearest(name: str, folders: Sequence[Path]) -> Path | None:
    return next((folder for folder in folders if (folder / name).is_file()), None)


def _is_too_wide(folder: Path) -> bool:
    """Return True for the home folder and folders above it, which are too large to copy."""
    home = Path(expanduser("~"))  # noqa: PTH111 (Path.home raises if there is no home folder)
    return home.resolve().is_relative_to(folder)
