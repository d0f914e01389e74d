"""Matching of node patterns, and suggestions for unknown names."""

import fnmatch
import glob
import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from remora.ids import NodeKey, display_name, split_node_key

_MIN_SIMILARITY = 0.5


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


def nearest(name: str, names: Iterable[str], n: int = 3) -> tuple[str, ...]:
    """Return up to `n` of the names that are most similar to `name`, best match first.

    `names` may contain node keys.
    """
    matcher = SequenceMatcher(b=name.removeprefix("node:").casefold())
    scored = ((_similarity(matcher, candidate), candidate) for candidate in set(names))
    near = sorted((-score, candidate) for score, candidate in scored if score >= _MIN_SIMILARITY)
    return tuple(candidate for _, candidate in near[:n])


def _names(key: NodeKey) -> set[str]:
    return {key.removeprefix("node:"), split_node_key(key)[1], display_name(key)}


def _similarity(matcher: SequenceMatcher[str], candidate: str) -> float:
    """Return the best similarity to the candidate's whole name, qualname or last part."""
    whole = candidate.removeprefix("node:").casefold()
    qualname = whole.rpartition(":")[2]
    best = 0.0
    for part in {whole, qualname, qualname.rpartition(".")[2]}:
        matcher.set_seq1(part)
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= max(_MIN_SIMILARITY, best):
            best = max(best, matcher.ratio())
    return best
