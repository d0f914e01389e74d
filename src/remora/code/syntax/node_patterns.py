"""Matching of node patterns."""

import fnmatch
import glob
import re
from collections.abc import Iterable

from remora.ids import NodeKey, display_name, split_node_key


def match_nodes(keys: Iterable[NodeKey], pattern: str) -> tuple[NodeKey, ...]:
    """Return the keys that match `pattern`, in the order of `keys`.

    A pattern is a name or a case-sensitive glob. It is compared with `path:qualname` and with the
    qualname. A module is also named by its path alone. A leading `node:` is ignored. If the pattern
    is the exact name of a node, it is not used as a glob, because paths may contain brackets. If
    nothing else matches, the path may lack its first folders, if only one file ends like this.
    """
    name = pattern.removeprefix("node:")
    known = tuple(keys)
    if exact := tuple(key for key in known if name in _names(key)):
        return exact
    matches = re.compile(fnmatch.translate(name)).match
    matched = tuple(key for key in known if any(map(matches, _names(key))))
    return matched or _ending_with(known, f"/{name}")


def _ending_with(keys: Iterable[NodeKey], end: str) -> tuple[NodeKey, ...]:
    """Return the keys whose `path:qualname`, or path for modules, ends with `end`.

    Returns nothing if they are in more than one file.
    """
    found = tuple(key for key in keys if any(name.endswith(end) for name in _names(key)))
    return found if len({split_node_key(key)[0] for key in found}) == 1 else ()


def file_pattern(path: str) -> str:
    """Return the pattern that matches all nodes of a file. `path` is spelled as in node keys."""
    return f"{glob.escape(path)}:*"


def _names(key: NodeKey) -> set[str]:
    return {key.removeprefix("node:"), split_node_key(key)[1], display_name(key)}
