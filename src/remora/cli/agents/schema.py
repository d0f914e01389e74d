"""`schema`: JSON Schemas of what Remora reads and writes."""

from collections.abc import Callable
from typing import Any

import click

from remora.agents.definition.agent_yaml import definition_schema
from remora.cli.app.options import Options, command
from remora.cli.app.output import print_json
from remora.config.schema import config_schema
from remora.hub.node import node_schema
from remora.memory.json_schemas import event_schema, packet_schema

_SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "packet": packet_schema,
    "event": event_schema,
    "node": node_schema,
    "agent": definition_schema,
    "config": config_schema,
}


@command("schema", examples=("remora schema config", "remora schema event > event.json"))
@click.argument("name", type=click.Choice(list(_SCHEMAS)), metavar="packet|event|node|agent|config")
def schema(options: Options, name: str) -> int:
    """Print a JSON Schema (2020-12).

    packet: what a model decides on. event: a line of a stream. node: what the Hub
    knows of a node. agent: agent.yaml. config: remora.yaml and your own configuration file.
    """
    del options  # with and without --json it is the same document
    print_json(_SCHEMAS[name]())
    return 0
