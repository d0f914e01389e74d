"""Python interpreters: which one a project uses, and which paths it must be able to read.

No interpreter is started to find this out.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from remora.errors import ConfigError, UsageError
from remora.regular_file import read_regular

_PARTS = ("bin", "lib", "lib64", "include", "pyvenv.cfg")
_MAX_LINKS = 40
_MAX_BYTES = 1 << 20  # maximum size of a text file of an environment


class ProjectPython(msgspec.Struct, frozen=True, kw_only=True):
    """The interpreter of the project at `root`."""

    python: Path
    root: Path
    trusted: bool = False
    """True if the user has allowed it to run without isolation."""
    activated: bool = False
    """True if it belongs to the user's active environment rather than to the project."""
    sees_home: bool = False
    """True if the project contains the user's home folder, which the code could read."""


def find_interpreter(root: Path, configured: str | None, active: str | None) -> Path:
    """Return the configured interpreter, or else the interpreter in the root's .venv or in
    `active`.

    No process is started. Raises ConfigError if the configured interpreter does not exist, and
    UsageError if no interpreter is found.
    """
    if configured is not None:
        named = root / Path(configured).expanduser()
        if not named.is_file():
            raise ConfigError(
                f"python: {configured} does not exist",
                hint="set it to an existing interpreter, or remove the setting",
            )
        return named
    folders = [root / ".venv", *([Path(active)] if active else [])]
    for folder in folders:
        found = folder / "bin" / "python"
        if found.is_file():
            return found
    raise UsageError(
        f"{root} has no .venv, and no environment is active",
        hint="run `python3 -m venv .venv && .venv/bin/pip install -e . pytest`, activate another one, or "
        "set python: in remora.yaml",
    )


def environment_digest(python: ProjectPython) -> str:
    """Return a short digest of the interpreter's path and its installed packages.

    No process is started. Two environments with the same digest have the same distributions.
    """
    prefix = python.python.parent.parent
    installed = sorted(
        path.name
        for folder in prefix.glob("lib*/python*/site-packages")
        for path in folder.glob("*.dist-info")
    )
    text = "\n".join([str(python.python.resolve()), str(prefix), *installed])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def is_activated(python: Path, root: Path, active: str | None) -> bool:
    """Return True if the interpreter is in the active environment and outside the project."""
    return bool(active) and python.is_relative_to(str(active)) and not python.is_relative_to(root)


def interpreter_paths(python: Path, *, trusted: bool) -> tuple[Path, ...]:
    """Return the paths of the interpreter, its installation and its virtual environment.

    If `trusted` is True, folders from `.pth` files are also included. These files can refer to any
    folder.
    """
    found = [python]
    for place in _steps(python):
        prefix = place.parent.parent
        for installation in filter(_is_installation, (prefix, *_base(prefix))):
            found += _parts(installation)
            found += _path_file_folders(installation) if trusted else []
    return tuple(dict.fromkeys(path for path in found if path.exists()))


def _steps(python: Path) -> Iterator[Path]:
    """Yield the path. If it is a link, also yield the target of each link in the chain."""
    place = Path(os.path.abspath(python))  # noqa: PTH100 - keeps links
    for _ in range(_MAX_LINKS):
        yield place
        if not place.is_symlink():
            break
        target = place.parent.resolve() / place.readlink()
        place = Path(os.path.abspath(target))  # noqa: PTH100


def _is_installation(prefix: Path) -> bool:
    is_environment = (prefix / "pyvenv.cfg").is_file() and any(prefix.glob("lib/python3*"))
    return is_environment or any(prefix.glob("lib*/python3*/os.py"))


def _parts(prefix: Path) -> list[Path]:
    """Return the parts of an installation, leaving out links to paths outside it."""
    parts = (prefix / name for name in _PARTS)
    return [part for part in parts if part.resolve().is_relative_to(prefix.resolve())]


def _base(prefix: Path) -> Iterator[Path]:
    """Yield the base installation specified in `pyvenv.cfg`."""
    for line in _lines(prefix / "pyvenv.cfg"):
        name, _, value = line.partition("=")
        if name.strip() == "home" and value.strip():
            yield Path(value.strip()).parent


def _path_file_folders(prefix: Path) -> Iterator[Path]:
    """Yield the folders that `.pth` files add, such as the folders of editable installs."""
    for file in sorted(prefix.glob("lib*/python3*/site-packages/*.pth")):
        yield from (Path(line.rstrip()) for line in _lines(file) if line.startswith("/"))


def _lines(file: Path) -> list[str]:
    """Return the lines of a text file, or none if it cannot be read."""
    try:
        return read_regular(file, _MAX_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
