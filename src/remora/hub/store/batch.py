"""Batch of file updates, and the outcome of writing it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remora.code.file_facts import FileFacts
from remora.code.ir.model import LoweredFile, encode_lowered
from remora.hub.file_stamp import Stamp
from remora.hub.node import UpdateSource


class FileUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """New state of one file.

    `lowered` is the encoded IR. `stamp` is None if it proves nothing (see `is_racy`). `extra` holds
    the user scripts' values by node key, and `extras` the state of these scripts.
    """

    facts: FileFacts
    lowered: bytes
    stamp: Stamp | None
    extra: Mapping[str, dict[str, Any]] = {}
    extras: str = ""


def pack_update(
    facts: FileFacts,
    stamp: Stamp | None,
    *,
    extra: Mapping[str, dict[str, Any]] | None = None,
    extras: str = "",
) -> FileUpdate:
    """Create an update with the IR encoded, to save memory until it is stored."""
    lowered = encode_lowered(facts.lowered)
    named = LoweredFile(facts.path, facts.lowered.names)
    facts = msgspec.structs.replace(facts, lowered=named)
    return FileUpdate(facts=facts, lowered=lowered, stamp=stamp, extra=extra or {}, extras=extras)


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Files to store, and spelled paths of removed files. Each path occurs at most once."""

    updates: tuple[FileUpdate, ...] = ()
    gone: tuple[str, ...] = ()
    source: UpdateSource = "file_change"


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """Generation after a batch, and the sorted keys of all nodes with changed facts.

    If `rebuilt`, the database now holds only this batch, and all other files must be stored again.
    """

    generation: int
    changed: tuple[str, ...]
    rebuilt: bool = False
