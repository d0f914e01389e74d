"""Which nodes a pattern means, and which names are near one that does not exist."""

import fnmatch
import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from remora.ids import NodeKey, split_node_key

_NEAR = 0.5


def match_nodes(keys: Iterable[NodeKey], pattern: str) -> tuple[NodeKey, ...]:
    """The keys that `pattern` means, in their order.

    A pattern is a name or a glob (`*`, `?`, `[…]`, case matters) and is held against
    `path:qualname` and against the qualname alone; a leading `node:` is ignored. A pattern that is
    some node's exact name is no glob: paths may contain brackets.
    """
    wanted = pattern.removeprefix("node:")
    known = tuple(keys)
    exact = tuple(key for key in known if wanted in _names(key))
    if exact:
        return exact
    fits = re.compile(fnmatch.translate(wanted)).match
    return tuple(key for key in known if any(map(fits, _names(key))))


def nearest(name: str, names: Iterable[str], n: int = 3) -> tuple[str, ...]:
    """At most `n` of `names` that look like `name`, best first; node keys may be among them."""
    matcher = SequenceMatcher(b=name.removeprefix("node:").casefold())
    scored = ((_closeness(matcher, candidate), candidate) for candidate in set(names))
    near = sorted((-score, candidate) for score, candidate in scored if score >= _NEAR)
    return tuple(candidate for _, candidate in near[:n])


def _names(key: NodeKey) -> tuple[str, str]:
    return key.removeprefix("node:"), split_node_key(key)[1]


def _closeness(matcher: SequenceMatcher[str], candidate: str) -> float:
    """Best ratio over the whole name, what follows the path, and the last part of that."""
    whole = candidate.removeprefix("node:").casefold()
    qualname = whole.rpartition(":")[2]
    best = 0.0
    for part in {whole, qualname, qualname.rpartition(".")[2]}:
        matcher.set_seq1(part)
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= max(_NEAR, best):
            best = max(best, matcher.ratio())
    return best
