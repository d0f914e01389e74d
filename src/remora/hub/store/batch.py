"""Batches of file updates, and the outcome of storing a batch."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remora.code.file_facts import FileFacts
from remora.code.ir.model import LoweredFile, encode_lowered
from remora.hub.file_stamp import Stamp
from remora.hub.node import UpdateSource


class FileUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """New state of a file.

    `lowered` is the encoded IR. `stamp` is None if it is not reliable (see `is_racy`). `extra`
    contains the values of user scripts by node key, and `extras` is the state of these scripts.
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
    lowered: bytes | None = None,
) -> FileUpdate:
    """Create an update for a file. The IR is encoded to save memory until the update is stored.

    `lowered` is the encoded IR if `facts` only contain its names.
    """
    if lowered is None:
        lowered = encode_lowered(facts.lowered)
    named = LoweredFile(facts.path, facts.lowered.names)
    facts = msgspec.structs.replace(facts, lowered=named)
    return FileUpdate(facts=facts, lowered=lowered, stamp=stamp, extra=extra or {}, extras=extras)


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """File updates to store, and the paths of removed files.

    Paths are spelled as in node keys. Each path occurs at most once.
    """

    updates: tuple[FileUpdate, ...] = ()
    gone: tuple[str, ...] = ()
    source: UpdateSource = "file_change"


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """Generation after a batch, and the sorted keys of all nodes whose facts changed.

    If `rebuilt` is True, the database now contains only this batch, and all other files must be
    stored again.
    """

    generation: int
    changed: tuple[str, ...]
    rebuilt: bool = False
