"""Identifiers of runs, agents and nodes."""

import re
from typing import NewType

RunId = NewType("RunId", str)
AgentId = NewType("AgentId", str)
NodeKey = NewType("NodeKey", str)

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MODULE = "__module__"
LAST = "last"
"""The name of the newest run in place of its ID."""


def is_id(text: str) -> bool:
    """True if `text` is a valid name of a run or agent (and so of a file in `.agentfs/`)."""
    return _ID.fullmatch(text) is not None


def agent_id(operation: str, run_id: str, node_id: str, attempt: int) -> AgentId:
    """Return the stable name of an attempt (from 1) of a job: `{operation}-{12 hex}`."""
    import hashlib

    digest = hashlib.sha256(f"{run_id} {node_id} {attempt}".encode()).hexdigest()
    return AgentId(f"{operation}-{digest[:12]}")


def node_key(path: str, qualname: str = MODULE) -> NodeKey:
    """Return `node:{path}:{qualname}`; `path` is already escaped by `escape_path`."""
    return NodeKey(f"node:{path}:{qualname}")


def split_node_key(key: str) -> tuple[str, str]:
    """Return the path (as escaped in the key) and qualname, split at the last `:`."""
    path, _, qualname = key.removeprefix("node:").rpartition(":")
    return path, qualname


def escape_path(path: str) -> str:
    """Return a root-relative POSIX path as escaped in a node key.

    Bytes that are not UTF-8 (surrogate escapes in `path`) become `%XX`, a literal `%` `%25`.
    """
    escaped = path.replace("%", "%25")
    if escaped.isascii():
        return escaped
    return "".join(f"%{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in escaped)


def unescape_path(spelled: str) -> str:
    """Return the path of an escaped one: the inverse of `escape_path`."""
    if "%" not in spelled:
        return spelled
    raw = re.sub(rb"%([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), spelled.encode())
    return raw.decode("utf-8", "surrogateescape")
