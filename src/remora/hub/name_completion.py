"""Node names for shell completion, read from the Hub's database."""

from contextlib import closing
from pathlib import Path

from remora.hub.store.hub_database import open_reading
from remora.hub.store.key_search import keys_by_prefix, keys_by_qualname
from remora.ids import MODULE

_MOST = 200
_MODULE = f":{MODULE}"
_NODE = "node:"


def stored_names(db: Path, typed: str) -> list[str]:
    """Return up to 200 keys or paths that start with `typed`.

    If there are none, return matching qualnames. The list is empty if there is no database.
    """
    connection = open_reading(db)
    if connection is None:
        return []
    with closing(connection):
        prefix = _NODE if typed.startswith(_NODE) else ""
        beginning = _NODE + typed.removeprefix(_NODE)
        found = [
            prefix + _shortened(key, beginning).removeprefix(_NODE)
            for key in keys_by_prefix(connection, beginning, limit=_MOST)
        ]
        if found:
            return found
        names = (key.rpartition(":")[2] for key in keys_by_qualname(connection, typed, limit=_MOST))
        return list(
            dict.fromkeys(name for name in names if name.startswith(typed) and name != MODULE)
        )


def _shortened(key: str, beginning: str) -> str:
    """Return a module's key without its qualname, unless the user is typing the qualname."""
    short = key.removesuffix(_MODULE)
    return short if short.startswith(beginning) else key
