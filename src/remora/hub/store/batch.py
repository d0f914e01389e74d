"""A batch: what one transaction writes, and its outcome."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remora.code.file_facts import FileFacts
from remora.code.ir.model import LoweredFile, encode_lowered
from remora.hub.node import UpdateSource
from remora.hub.stamp import Stamp


class FileUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was read.

    `lowered` is what links are made from, as it is stored; of that in `facts` only the names are
    looked at. `stamp` is None where it proves nothing (see `racy`). `extra` is by node key what users' scripts
    found, `extras` the state of these scripts.
    """

    facts: FileFacts
    lowered: bytes
    stamp: Stamp | None
    extra: Mapping[str, dict[str, Any]] = {}
    extras: str = ""


def packed(
    facts: FileFacts,
    stamp: Stamp | None,
    *,
    extra: Mapping[str, dict[str, Any]] | None = None,
    extras: str = "",
) -> FileUpdate:
    """The same with as little memory as can be: of a thousand files that wait to be stored, what
    links are made from is kept encoded, at once, while it is near."""
    lowered = encode_lowered(facts.lowered)
    named = LoweredFile(facts.path, facts.lowered.names)
    facts = msgspec.structs.replace(facts, lowered=named)
    return FileUpdate(facts=facts, lowered=lowered, stamp=stamp, extra=extra or {}, extras=extras)


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Files to store, and spelled paths of files that are gone; each path at most once."""

    updates: tuple[FileUpdate, ...] = ()
    gone: tuple[str, ...] = ()
    source: UpdateSource = "file_change"


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """The generation after a batch, and the keys of all nodes of which a fact changed, sorted.

    `rebuilt`: the database was damaged or deleted and holds nothing but this batch now, so every
    other file must be stored again.
    """

    generation: int
    changed: tuple[str, ...]
    rebuilt: bool = False
