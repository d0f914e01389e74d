"""The `sweep` command group. Each command is imported on first use."""

from remora.cli.app.lazy_group import LazyGroup

_MODULE = "remora.cli.sweep.sweep_commands"
_COMMANDS = {
    "run": (f"{_MODULE}:run_", "Plan and run jobs in all repositories."),
    "list": (f"{_MODULE}:list_", "List the sweeps of the repositories."),
    "show": (f"{_MODULE}:show", "Show a line for each repository."),
    "diff": (f"{_MODULE}:diff", "Show what a sweep would change."),
    "report": (f"{_MODULE}:report", "Write a report of a sweep."),
    "review": (f"{_MODULE}:review", "Review pending changes one by one."),
    "accept": (f"{_MODULE}:accept", "Write changes to files or branches."),
    "reject": (f"{_MODULE}:reject", "Reject changes."),
    "revert": (f"{_MODULE}:revert", "Undo accepted changes."),
    "verify": (f"{_MODULE}:verify", "Verify the records of all repositories."),
}

sweep = LazyGroup(
    "sweep",
    lazy=_COMMANDS,
    help="""Run agents on several repositories, and review all their changes.

    FILE lists the repositories. Each is a project with its own configuration and records. RUN is a
    run ID, a unique prefix of an ID, or `last` (default). See docs/how-to/sweep.md.
    """,
)
