"""The `schema` command, which prints JSON Schemas of the formats that Remora reads and writes."""

from importlib import import_module

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import print_json
from remora.cli.app.project_context import invocation_of

_SCHEMAS = {
    "packet": ("remora.memory.events", "packet_schema"),
    "event": ("remora.memory.events", "event_schema"),
    "node": ("remora.hub.node", "node_schema"),
    "agent": ("remora.agents.definition.agent_yaml", "definition_schema"),
    "check": ("remora.runs.report.check_document", "check_schema"),
    "line": ("remora.runs.records.run_events", "lines_schema"),
    "config": ("remora.config.loading", "config_schema"),
}
"""Schemas by name, each with its module and function, imported when the schema is printed."""


@command("schema", examples=("remora schema config", "remora schema event > event.json"))
@click.argument(
    "name", type=click.Choice(list(_SCHEMAS)), metavar="packet|event|node|agent|check|config"
)
def schema(options: Options, name: str) -> int:
    """Print a JSON Schema (2020-12).

    The argument selects the format: packet is the input of a model, event is a line of a stream,
    node contains the Hub's facts about a node, agent is agent.yaml, check is the document of
    `check --json`, line is a line of `analyze --json-lines`, and config is remora.yaml and your own configuration file.
    """
    # --json makes no difference
    module, function = _SCHEMAS[name]
    given = (invocation_of(options).operations.settings,) if name == "config" else ()
    print_json(getattr(import_module(module), function)(*given))
    return 0
