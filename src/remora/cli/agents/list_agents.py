"""The `agents list` command."""

from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, print_error, table

_HEAD = ("OPERATION", "AGENT", "FROM", "DESCRIPTION")


@command("list", examples=("remora agents list", "remora agents list --json"))
def list_(options: Options) -> int:
    """List the agents, built-in ones first.

    Exit with 2 if a definition is invalid. Scripts are not checked; use `remora agents validate`
    for that.
    """
    from remora.agents.definition.agent_listing import list_agents

    invocation = invocation_of(options)
    listed, wrong = list_agents(invocation.find_root(), invocation.operations)
    document = {"agents": listed, "errors": [error.message for error in wrong]}
    rows = [
        [
            agent["operation"],
            agent["name"],
            "built in" if agent["builtin"] else "project",
            agent["description"],
        ]
        for agent in listed
    ]
    emit(options, document, table(_HEAD, rows))
    for error in wrong:
        print_error(error.code, error.message, error.hint, as_json=False)
    return 2 if wrong else 0
