"""The root of a project; a module of its own because every command finds it first."""

from pathlib import Path


def find_root(start: Path) -> Path:
    """Return the nearest folder with `remora.yaml`, else the git root, else the target folder."""
    target = start.resolve()
    folder = target if target.is_dir() else target.parent
    upwards = [folder, *folder.parents]
    git = next((place for place in upwards if (place / ".git").exists()), None)
    if git is None:
        return folder
    for place in upwards[: upwards.index(git) + 1]:
        if (place / "remora.yaml").is_file():
            return place
    return git
