"""Spool of observations.

Observations are stored next to the database until the database's writer collects them.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError
from remora.hub.observed_links import Observation

_LIMIT = 1 << 28
_MAX_WAITING = 64
_decoder = msgspec.msgpack.Decoder(Observation)


def spool_folder(db: Path) -> Path:
    """Return the spool folder of a database."""
    return db.with_name(db.name + ".observed")


def enqueue(folder: Path, observation: Observation) -> None:
    """Write an observation to the spool atomically. Raises DiskError on failure."""
    name = f"{time.time_ns():020d}-{os.getpid()}"
    try:
        make_private(folder)
        file = os.open(folder / f"{name}.part", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(msgspec.msgpack.encode(observation))
        (folder / f"{name}.part").rename(folder / f"{name}.msgpack")
    except OSError as error:
        raise DiskError(f"{folder}: cannot store the observation: {error.strerror}") from error


def drain(folder: Path, record: Callable[[Observation], object]) -> None:
    """Pass waiting observations to `record`, oldest first, and remove them.

    If `record` raises an exception, the current and later observations are kept. Only the database's writer may call this.
    """
    waiting = sorted(folder.glob("*.msgpack")) if folder.is_dir() else []
    for path in waiting:
        observation = _read(path) if path in waiting[-_MAX_WAITING:] else None
        if observation is not None:
            record(observation)
        path.unlink(missing_ok=True)


def _read(path: Path) -> Observation | None:
    try:
        if path.is_symlink() or path.stat().st_size > _LIMIT:
            return None
        return _decoder.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None
