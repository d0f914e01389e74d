"""Shell completion of node names from the Hub's stored database; no daemon is started or asked."""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from remora.cli.app.options import options_of

if TYPE_CHECKING:
    import sqlite3

_MOST = 200
_MODULE = ":__module__"
_NODE = "node:"


class HubNode(click.types.StringParamType):
    """A node's name: `path:qualname`, a path, or a qualname."""

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 (click's)
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return up to 200 names that begin with what is typed; none without a database."""
        try:
            names = list(_names(ctx, incomplete))
        except Exception:  # noqa: BLE001 (a completion never fails)
            return []
        return [CompletionItem(name) for name in names]


def _names(ctx: click.Context, typed: str) -> Iterator[str]:
    from remora.cli.app.invocation import caller_of
    from remora.hub.process.hub_paths import hub_paths
    from remora.hub.store.hub_database import open_reading

    caller = caller_of(options_of(ctx))
    places = hub_paths(caller.folders, caller.find_root(), db=ctx.params.get("db"))
    connection = open_reading(places.db)
    if connection is None:
        return
    with closing(connection):
        prefix = _NODE if typed.startswith(_NODE) else ""
        beginning = _NODE + typed.removeprefix(_NODE)
        found = [
            prefix + _shortened(key, beginning).removeprefix(_NODE)
            for key in _keys(connection, beginning)
        ]
        yield from found or dict.fromkeys(_qualnames(connection, typed))


def _shortened(key: str, beginning: str) -> str:
    """Return a module's key without its qualname, unless that is being typed."""
    short = key.removesuffix(_MODULE)
    return short if short.startswith(beginning) else key


def _keys(connection: "sqlite3.Connection", beginning: str) -> Iterator[str]:
    """Return the keys that begin so; an index holds them in this order."""
    rows = connection.execute(
        "SELECT key FROM node_state WHERE key >= ? AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?",
        (beginning, len(beginning), beginning, _MOST),
    )
    return (key for (key,) in rows)


def _qualnames(connection: "sqlite3.Connection", typed: str) -> Iterator[str]:
    """Return the qualnames that begin so."""
    rows = connection.execute(
        "SELECT key FROM node_state WHERE instr(key, ?) ORDER BY key LIMIT ?",
        (f":{typed}", _MOST),
    )
    for (key,) in rows:
        qualname = key.rpartition(":")[2]
        if qualname.startswith(typed) and qualname != _MODULE[1:]:
            yield qualname


HUB_NODE = HubNode()
