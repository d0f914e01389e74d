"""Search: which node keys match, ranked."""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

from remora.ids import MODULE, split_node_key


class Rank(NamedTuple):
    """The smaller, the better it fits; the key makes the order total."""

    place: int
    length: int
    key: str


def words_of(query: str) -> list[bytes]:
    """What is looked for: every word, in any order; letters A to Z in either case."""
    return query.removeprefix("node:").encode("utf-8", "surrogatepass").lower().split()


def best(keys: Iterable[str], query: str, limit: int) -> list[str]:
    """At most `limit` keys that hold every word of `query`; the best first."""
    words = words_of(query)
    if not words or limit < 1:
        return []
    ranks = (rank for key in keys if (rank := _rank(key, words)) is not None)
    return [rank.key for rank in heapq.nsmallest(limit, ranks)]


def _rank(key: str, words: list[bytes]) -> Rank | None:
    path, qualname = split_node_key(key)
    if qualname == MODULE:  # its name is the file's
        path, qualname = "", path
        name = qualname.rpartition("/")[2].removesuffix(".py")
    else:
        name = qualname.rpartition(".")[2]
    small_name, small_qualname = name.encode().lower(), qualname.encode().lower()
    whole = path.encode().lower() + b":" + small_qualname
    if not all(word in whole for word in words):
        return None
    return Rank(_place(words[-1], small_name, small_qualname, whole), len(key), key)


def _place(word: bytes, name: bytes, qualname: bytes, whole: bytes) -> int:
    tried = (
        word in (qualname, whole),
        word == name,
        name.startswith(word),
        word in name,
        word in qualname,
    )
    return tried.index(True) if True in tried else len(tried)
