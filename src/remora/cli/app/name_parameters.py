"""Command-line parameters for runs, agents, operations and nodes, with shell completion."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from remora.cli.app.options import options_of
from remora.ids import LAST, display_name

if TYPE_CHECKING:
    from remora.trace.trace_folder import TraceFolder

Finder = Callable[[click.Context, str], Iterable[str]]
"""Returns names to complete. The second argument is the text typed so far."""


class Name(click.types.StringParamType):
    """A string parameter with shell completion. `find` returns the names to complete."""

    def __init__(self, find: Finder) -> None:
        self._find = find

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 (click's)
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the names that start with `incomplete`.

        The list is empty if the names cannot be read.
        """
        try:
            found = dict.fromkeys(self._find(ctx, incomplete))
        except Exception:  # noqa: BLE001 (a completion never fails)
            return []
        return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def _runs(ctx: click.Context, _typed: str) -> Iterable[str]:
    from remora.trace.trace_folder import stream_id

    return [LAST, *sorted(map(stream_id, _records(ctx).run_streams()), reverse=True)]


def _streams(ctx: click.Context, typed: str) -> Iterable[str]:
    from remora.trace.trace_folder import stream_id

    folder = _records(ctx)
    return [*_runs(ctx, typed), *sorted(map(stream_id, folder.agent_streams()))]


def _nodes(ctx: click.Context, _typed: str) -> Iterable[str]:
    """Yield the nodes of the run given as an argument, or of the newest run."""
    from remora.memory.events import JobStart
    from remora.runs.records.name_lookup import run_named
    from remora.trace.read.reader import read_events, typed_payload

    folder = _records(ctx)
    run = run_named(folder, ctx.params.get("run") or LAST)
    for event in read_events(folder.existing_run(run)):
        data = typed_payload(event) if event.type == JobStart.type else None
        if isinstance(data, JobStart):
            yield display_name(data.node_id)


def _agents(ctx: click.Context, _typed: str) -> Iterable[str]:
    from remora.agents.definition.agent_listing import list_agents
    from remora.cli.app.project_context import invocation_of

    invocation = invocation_of(options_of(ctx))
    listed, _ = list_agents(invocation.find_root(), invocation.operations)
    return [agent["operation"] for agent in listed]


def _hub_nodes(ctx: click.Context, typed: str) -> Iterable[str]:
    """Return node names from the Hub's database. A daemon is not needed."""
    from remora.cli.app.project_context import invocation_of
    from remora.hub.name_completion import stored_names
    from remora.hub.process.hub_paths import hub_paths

    invocation = invocation_of(options_of(ctx))
    places = hub_paths(invocation.folders, invocation.find_root(), db=ctx.params.get("db"))
    return stored_names(places.db, typed)


def _records(ctx: click.Context) -> "TraceFolder":
    from remora.cli.app.project_context import trace_folder_of

    return trace_folder_of(options_of(ctx))


RUN, STREAM, NODE, OPERATION = Name(_runs), Name(_streams), Name(_nodes), Name(_agents)
HUB_NODE = Name(_hub_nodes)


def operations_option(about: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return the option that selects operations."""
    words = "-o", "--operation", "operations"
    return click.option(*words, type=OPERATION, metavar="OP", multiple=True, help=about)


def changed_option(about: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return the option that names a revision to compare with, or HEAD."""
    return click.option("--changed", is_flag=False, flag_value="", metavar="[REV]", help=about)
