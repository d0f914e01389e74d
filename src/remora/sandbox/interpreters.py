"""What an interpreter needs to be able to read: found by looking, never by starting it."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

_PARTS = ("bin", "lib", "lib64", "include", "pyvenv.cfg")
_MOST_LINKS = 40


class ProjectPython(msgspec.Struct, frozen=True, kw_only=True):
    """By which interpreter the code of the project at `root` is run. `trusted`: the user has said
    that this project may do what they may; `activated`: it is of the environment that they are in,
    and not of the project's."""

    python: Path
    root: Path
    trusted: bool = False
    activated: bool = False


def is_activated(python: Path, root: Path, active: str | None) -> bool:
    """Whether it is the interpreter of the user's environment, and not one of the project's."""
    return bool(active) and python.is_relative_to(str(active)) and not python.is_relative_to(root)


def interpreter_paths(python: Path, *, trusted: bool) -> tuple[Path, ...]:
    """The interpreter, its installation, and those of the environment that it belongs to.

    What the files of an environment say is believed only as far as it is an installation of
    Python. `trusted`: the folders that `.pth` files add, too; an environment that came with a
    project could name any, and a project's configuration any environment.
    """
    found = [python]
    for place in _steps(python):
        prefix = place.parent.parent
        for each in (prefix, *_base(prefix)):
            if _is_installation(each):
                found += _parts(each)
                found += _added(each) if trusted else []
    return tuple(dict.fromkeys(path for path in found if path.exists()))


def _steps(python: Path) -> Iterator[Path]:
    """The path, and what it links to, one link after the other."""
    place = Path(os.path.abspath(python))  # noqa: PTH100 - resolves no link
    for _ in range(_MOST_LINKS):
        yield place
        if not place.is_symlink():
            break
        target = place.parent.resolve() / place.readlink()
        place = Path(os.path.abspath(target))  # noqa: PTH100


def _is_installation(prefix: Path) -> bool:
    is_environment = (prefix / "pyvenv.cfg").is_file() and any(prefix.glob("lib/python3*"))
    return is_environment or any(prefix.glob("lib*/python3*/os.py"))


def _parts(prefix: Path) -> list[Path]:
    """What makes an installation; a link out of it could lead anywhere."""
    parts = (prefix / name for name in _PARTS)
    return [part for part in parts if part.resolve().is_relative_to(prefix.resolve())]


def _base(prefix: Path) -> Iterator[Path]:
    """Where an environment's interpreter comes from."""
    try:
        lines = (prefix / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        name, _, value = line.partition("=")
        if name.strip() == "home" and value.strip():
            yield Path(value.strip()).parent


def _added(prefix: Path) -> Iterator[Path]:
    """Folders that `.pth` files put on the path, such as those of editable installations."""
    for file in sorted(prefix.glob("lib*/python3*/site-packages/*.pth")):
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        for line in lines:
            if line.startswith("/"):
                yield Path(line.rstrip())
