"""Shell completion of node names, read from the Hub's database without a daemon."""

import click
from click.shell_completion import CompletionItem

from remora.cli.app.options import options_of


class HubNode(click.types.StringParamType):
    """The name of a node: `path:qualname`, a path, or a qualname."""

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 (click's)
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the stored names that start with `incomplete`.

        The list is empty if the names cannot be read.
        """
        from remora.cli.app.invocation import invocation_of
        from remora.hub.name_completion import stored_names
        from remora.hub.process.hub_paths import hub_paths

        try:
            invocation = invocation_of(options_of(ctx))
            places = hub_paths(invocation.folders, invocation.find_root(), db=ctx.params.get("db"))
            return [CompletionItem(name) for name in stored_names(places.db, incomplete)]
        except Exception:  # noqa: BLE001 (a completion never fails)
            return []


HUB_NODE = HubNode()
