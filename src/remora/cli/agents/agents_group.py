"""The `agents` command group. Each command is imported on first use."""

from remora.cli.app.lazy_group import LazyGroup

_COMMANDS = {
    "list": ("remora.cli.agents.list_agents:list_", "List the agents, built-in ones first."),
    "show": ("remora.cli.agents.definitions:show", "Show an agent's goal, tools and checks."),
    "validate": (
        "remora.cli.agents.definitions:validate",
        "Check agent definitions and their scripts.",
    ),
    "new": ("remora.cli.agents.definitions:new", "Create a working example agent."),
}

agents = LazyGroup(
    "agents",
    lazy=_COMMANDS,
    help="""List, check and create agents.

    An agent is a folder with an agent.yaml and .pym scripts. Some are built in; put yours in
    .remora/agents/NAME/. `remora schema agent` prints every key.
    """,
)
