"""Identifiers of runs, agents and nodes."""

import re
from typing import NewType

AgentId = NewType("AgentId", str)
NodeKey = NewType("NodeKey", str)

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_STAMPED = re.compile(r"(\d{8}-\d{6})-[0-9a-f]{6}")
"""The ID of a run that Remora began, with its time."""
MODULE = "__module__"
STUB = ".pyi"
"""The suffix of stubs, which have only the signatures of a module."""
LAST = "last"
"""Alias of the newest run, accepted in place of a run ID."""


def is_id(text: str) -> bool:
    """Return True if `text` is a valid run or agent ID. Valid IDs are safe to use as file names."""
    return _ID.fullmatch(text) is not None


def stamp_of(run_id: str) -> str:
    """Return the time in the ID of a run, such as `20260131-093000`, or an empty string."""
    stamped = _STAMPED.fullmatch(run_id)
    return stamped[1] if stamped else ""


def run_order(run_id: str, began: str) -> tuple[str, str, str]:
    """Return the key that sorts runs by age. `began` counts only where IDs do not say."""
    return stamp_of(run_id), began, run_id


def agent_id(operation: str, run_id: str, node_id: str, attempt: int) -> AgentId:
    """Return the stable ID of an attempt at a job: `{operation}-{12 hex digits}`.

    `attempt` starts at 1.
    """
    import hashlib

    digest = hashlib.sha256(f"{run_id} {node_id} {attempt}".encode()).hexdigest()
    return AgentId(f"{operation}-{digest[:12]}")


def node_key(path: str, qualname: str = MODULE) -> NodeKey:
    """Return the key `node:{path}:{qualname}`.

    `path` must already be escaped with `escape_path`.
    """
    return NodeKey(f"node:{path}:{qualname}")


def split_node_key(key: str) -> tuple[str, str]:
    """Split a node key at its last `:`.

    Return the path, which is still escaped, and the qualname.
    """
    path, _, qualname = key.removeprefix("node:").rpartition(":")
    return path, qualname


def file_of_key(key: str) -> str:
    """Return the path of the file that contains a node."""
    return unescape_path(split_node_key(key)[0])


def module_path(path: str) -> str:
    """Return the path of the module that a stub describes, such as `a.py` for `a.pyi`.

    Return any other path as it is.
    """
    return path[:-1] if path.endswith(STUB) else path


def display_name(key: str) -> str:
    """Return the name of a node for people: `path:qualname`, or the path alone for a module."""
    return key.removeprefix("node:").removesuffix(f":{MODULE}")


def escape_path(path: str) -> str:
    """Escape a root-relative POSIX path for use in a node key.

    Bytes that are not valid UTF-8 (surrogate escapes in `path`) become `%XX`, and `%` becomes
    `%25`.
    """
    escaped = path.replace("%", "%25")
    if escaped.isascii():
        return escaped
    return "".join(
        f"%{ord(letter) - 0xDC00:02X}" if 0xDC80 <= ord(letter) <= 0xDCFF else letter
        for letter in escaped
    )


def unescape_path(spelled: str) -> str:
    """Return the original path. This is the inverse of `escape_path`."""
    if "%" not in spelled:
        return spelled
    raw = re.sub(rb"%([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), spelled.encode())
    return raw.decode("utf-8", "surrogateescape")
