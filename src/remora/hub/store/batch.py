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

    `lowered` is the encoded IR. `stamp` is None where it proves nothing (see `racy`). `extra` is
    user scripts' output by node key, `extras` the state of these scripts.
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
    """Return the same update with its IR encoded, to save memory while it waits to be stored."""
    lowered = encode_lowered(facts.lowered)
    named = LoweredFile(facts.path, facts.lowered.names)
    facts = msgspec.structs.replace(facts, lowered=named)
    return FileUpdate(facts=facts, lowered=lowered, stamp=stamp, extra=extra or {}, extras=extras)


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Files to store, and spelled paths of removed files; each path at most once."""

    updates: tuple[FileUpdate, ...] = ()
    gone: tuple[str, ...] = ()
    source: UpdateSource = "file_change"


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """Generation after a batch, and the sorted keys of all nodes with changed facts.

    `rebuilt`: the database holds only this batch now; every other file must be stored again.
    """

    generation: int
    changed: tuple[str, ...]
    rebuilt: bool = False
