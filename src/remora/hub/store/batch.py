"""What is written in one transaction, and what came of it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remora.code.facts import FileFacts
from remora.hub.node import UpdateSource
from remora.hub.stamp import Stamp


class FileUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was read.

    `stamp` is None where it proves nothing (see `racy`). `extra` is by node key what users' scripts
    found, `extras` the state of these scripts.
    """

    facts: FileFacts
    stamp: Stamp | None
    extra: Mapping[str, dict[str, Any]] = {}
    extras: str = ""


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
