"""Conversion between database rows and the records for files and nodes."""

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from remora.code.file_facts import NodeFacts
from remora.hub.file_stamp import Stamp
from remora.hub.query.snapshots import StoredNode
from remora.ids import NodeKey

NODE_COLUMNS = (
    "key, file_path, place, node_name, node_type, source_hash, body_hash, file_hash, "
    "signature, docstring, docstring_outdated, imports, decorators, bases, line_start, line_count, "
    "complexity, has_type_hints, partial, last_updated, update_source"
)
_HALF, _WHOLE = 2**63, 2**64
_STRINGS = msgspec.json.Decoder(tuple[str, ...])
_AROUND_PATH = len("node::")
_NONE = "[]"


class FileRow(NamedTuple):
    """Row of a file. `stamp` is None if it is not reliable."""

    stamp: Stamp | None
    file_hash: str


def node_values(path: str, place: int, stored: StoredNode) -> tuple[Any, ...]:
    """Return the values of a node in the order of NODE_COLUMNS.

    `place` is the index of the node in the file at `path`.
    """
    node = stored.facts
    return (
        node.key,
        path,
        place,
        node.node_name,
        node.node_type,
        node.source_hash,
        node.body_hash,
        stored.file_hash,
        node.signature,
        node.docstring,
        node.docstring_outdated,
        None if node.imports is None else _strings(node.imports),
        _strings(node.decorators),
        _strings(node.bases),
        node.line_start,
        node.line_count,
        node.complexity,
        node.has_type_hints,
        stored.partial,
        stored.last_updated,
        stored.update_source,
    )


def stored_node(row: Sequence[Any]) -> StoredNode:
    """Convert a row to a node. This is the inverse of `node_values`.

    Raises sqlite3.DatabaseError if the row is invalid.
    """
    try:
        return _stored_node(row)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(f"invalid row in node_state: {error}") from error


def _stored_node(row: Sequence[Any]) -> StoredNode:
    facts = NodeFacts(
        key=NodeKey(row[0]),
        qualname=row[0][len(row[1]) + _AROUND_PATH :],
        node_name=row[3],
        node_type=row[4],
        source_hash=row[5],
        body_hash=row[6],
        signature=row[8],
        docstring=row[9],
        docstring_outdated=bool(row[10]),
        imports=None if row[11] is None else _STRINGS.decode(row[11]),
        decorators=_tuple(row[12]),
        bases=_tuple(row[13]),
        line_start=row[14],
        line_count=row[15],
        complexity=row[16],
        has_type_hints=bool(row[17]),
    )
    return StoredNode(
        facts=facts,
        file_hash=row[7],
        partial=bool(row[18]),
        last_updated=row[19],
        update_source=row[20],
    )


def stamp_values(stamp: Stamp | None) -> tuple[int | None, ...]:
    """Return the values of a Stamp as integers that SQLite can store.

    Values that are too large wrap around, so they never equal the original.
    """
    if stamp is None:
        return (None, None, None, None)
    return tuple((value + _HALF) % _WHOLE - _HALF for value in stamp)


def _strings(values: tuple[str, ...]) -> str:
    return msgspec.json.encode(values).decode() if values else _NONE


def _tuple(text: str) -> tuple[str, ...]:
    return () if text == _NONE else _STRINGS.decode(text)
