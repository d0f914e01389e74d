"""Ranked search for node keys."""

import heapq
from collections.abc import Iterable

from remora.ids import MODULE, STUB, module_path, split_node_key


def split_words(query: str) -> list[bytes]:
    """Return the words of a query, with ASCII letters in lowercase."""
    return query.removeprefix("node:").encode("utf-8", "surrogatepass").lower().split()


def best_matches(keys: Iterable[str], query: str, limit: int) -> list[str]:
    """Return at most `limit` keys that contain every word of `query`, best first."""
    words = split_words(query)
    if not words or limit < 1:
        return []
    ranks = (rank for key in keys if (rank := _rank(key, words)) is not None)
    return [key for *_, key in heapq.nsmallest(limit, ranks)]


def _rank(key: str, words: list[bytes]) -> tuple[int, bool, int, str] | None:
    """Return the rank of a match, by place, length and key; lower is better.

    What is in a stub comes after what is in a module.
    """
    path, qualname = split_node_key(key)
    is_stub = path.endswith(STUB)
    if qualname == MODULE:  # modules are named by their file
        path, qualname = "", path
        name = module_path(qualname.rpartition("/")[2]).removesuffix(".py")
    else:
        name = qualname.rpartition(".")[2]
    small_name, small_qualname = name.encode().lower(), qualname.encode().lower()
    whole = path.encode().lower() + b":" + small_qualname
    if not all(word in whole for word in words):
        return None
    return _place(words[-1], small_name, small_qualname, whole), is_stub, len(key), key


def _place(word: bytes, name: bytes, qualname: bytes, whole: bytes) -> int:
    tried = (
        word in (qualname, whole),
        word == name,
        name.startswith(word),
        word in name,
        word in qualname,
    )
    return tried.index(True) if True in tried else len(tried)
