"""Provenance of runs. A project may contain streams from another installation."""

import hmac
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError, UsageError
from remora.memory.canonical import canonical
from remora.memory.encode_values import encode_value
from remora.memory.events import Event, Head, RunStart
from remora.trace.content.private_files import disk_errors, sync_folder

_KEY_BYTES = 32
"""The length of an HMAC key for SHA-256."""


def install_key(state: Path) -> bytes:
    """Return this installation's secret key.

    The key is created on first use, in the user's state folder. Raises DiskError if the key cannot
    be created or read, or if it is incomplete.
    """
    path = state / "install.key"
    with disk_errors(path):
        make_private(state)
        if not path.exists():
            _make_key(path)
        key = path.read_bytes()
    if len(key) != _KEY_BYTES:  # with an empty key anyone could sign
        raise DiskError(
            f"{path} is not a valid key ({_KEY_BYTES} bytes expected)",
            hint="remove it to create a new key; earlier runs then require --trust-run",
        )
    return key


def _make_key(path: Path) -> None:
    """Write a new key atomically. If commands run concurrently, only one of their keys is kept."""
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(secrets.token_bytes(_KEY_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink()


def sign_run_start(start: RunStart, key: bytes) -> RunStart:
    """Return `start` with `install` set to the HMAC of all other fields as canonical JSON."""
    return msgspec.structs.replace(
        start, install=_installation_mark(encode_value(msgspec.to_builtins(start)), key)
    )


def remember_head(state: Path, run_id: str, head: Head) -> None:
    """Store the head of a run's stream after the last append. The file is replaced atomically.

    The folder is synced only for the first head. A run without a stored head is treated as a run
    from another installation, whereas an outdated head is harmless.
    """
    folder = state / "heads"
    with disk_errors(folder):
        make_private(folder)
        is_first = not (folder / f"{run_id}.json").exists()
        temporary = folder / f"{run_id}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(msgspec.json.encode(head))
            file.flush()
            os.fsync(file.fileno())  # an empty file would make the run count as foreign
        temporary.replace(folder / f"{run_id}.json")
        if is_first:
            sync_folder(folder)


def forget_head(state: Path, run_id: str) -> None:
    """Delete the stored head of a removed run. Raises DiskError if it cannot be deleted."""
    with disk_errors(state):
        (state / "heads" / f"{run_id}.json").unlink(missing_ok=True)


def known_head(state: Path, run_id: str) -> Head:
    """Return the head of a run after this installation's last append.

    Returns an empty head if no head is stored or the stored head cannot be read.
    """
    try:
        text = (state / "heads" / f"{run_id}.json").read_bytes()
        return msgspec.json.decode(text, type=Head)
    except (OSError, msgspec.DecodeError):
        return Head()


def check_own_run(run_id: str, events: Sequence[Event], known: Head, key: bytes) -> None:
    """Check that this installation started a run, and that its stream has only been appended to.

    `events` are the events whose lines match their hashes. `known` is the head of this
    installation's last append. Raises UsageError if another installation started the run, or if the
    stream was truncated or rewritten before `known`.
    """
    if not known.count:
        raise _foreign_error(run_id, "the state folder has no record of it")
    if not events or not _is_signed(events[0], key):
        raise _foreign_error(run_id, "its run_start was not written by this installation")
    if len(events) < known.count:
        raise _foreign_error(run_id, "its stream was truncated or is damaged")
    if events[known.count - 1].hash != known.hash:
        raise _foreign_error(run_id, "its stream was rewritten")


def _foreign_error(run_id: str, problem: str) -> UsageError:
    return UsageError(
        f"the run {run_id} belongs to another installation: {problem}",
        hint="if you moved or copied the project, or removed the state folder, use --trust-run; "
        "if another person started the run, read `remora show` and `remora diff` first",
    )


def _is_signed(first: Event, key: bytes) -> bool:
    try:
        data = msgspec.json.decode(first.data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(data, dict):
        return False
    claimed = str(data.get("install", ""))
    return hmac.compare_digest(claimed.encode(), _installation_mark(data, key).encode())


def _installation_mark(data: dict[str, Any], key: bytes) -> str:
    unsigned = {name: value for name, value in data.items() if name != "install"}
    return hmac.new(key, canonical(unsigned), sha256).hexdigest()
