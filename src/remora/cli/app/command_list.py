"""The front page: which commands there are, told without loading anything."""

COMMANDS = {
    "init": ("remora.cli.agents.init:init", "Write a commented remora.yaml."),
    "analyze": ("remora.cli.run.analyze:analyze", "Plan and run the jobs: the main command."),
    "runs": ("remora.cli.run.runs:runs", "List the runs of this project."),
    "show": ("remora.cli.run.runs:show", "Show what became of a run's jobs."),
    "diff": ("remora.cli.run.runs:diff", "Show what a run would change."),
    "report": ("remora.cli.run.report:report", "Hand on what a run came to."),
    "review": ("remora.cli.review.review_command:review", "Decide on what waits, one by one."),
    "accept": (
        "remora.cli.review.verdict_commands:accept",
        "Write verified changes to your files.",
    ),
    "reject": ("remora.cli.review.verdict_commands:reject", "Say no to changes."),
    "revert": ("remora.cli.review.verdict_commands:revert", "Take accepted changes back."),
    "retry": ("remora.cli.run.retry:retry", "Do a node's job again, with your feedback."),
    "clean": ("remora.cli.run.clean:clean", "Show and free what nobody needs any more."),
    "trace": ("remora.cli.trace.trace_group:trace", "Look into the Long Track, and verify it."),
    "hub": ("remora.cli.hub.hub_group:hub", "Facts about your code that are never stale."),
    "eval": ("remora.cli.agents.eval:eval_", "Evaluate settings on what was recorded."),
    "agents": ("remora.cli.agents.agents_group:agents", "The agents, yours and the built-in ones."),
    "tools": ("remora.cli.agents.tools:tools", "The tools of agents: list, check, try them."),
    "model": ("remora.cli.agents.model:model", "The model that decides, and its weights."),
    "schema": ("remora.cli.agents.schema:schema", "JSON Schemas of what Remora reads and writes."),
    "doctor": ("remora.cli.agents.doctor:doctor", "What this machine offers, and what is missing."),
}
"""By name: `MODULE:ATTRIBUTE`, and the line in the list; in the order of a run."""

GLOBAL_OPTIONS = {
    "--root DIR": "The project, if not found here.",
    "--config FILE": "Instead of ROOT/remora.yaml.",
    "--json": "One JSON document on stdout, nothing else.",
    "--quiet": "No progress and no notes on stderr.",
    "-v, --verbose": "Say more; show tracebacks of bugs.",
}
"""They stand before or after the command."""

_ALONE = {
    "--version": "Show the version and exit.",
    "-h, --help": "Show this message and exit.",
}

_PAGE = """\
Usage: remora [OPTIONS] COMMAND [ARGS]...

  Small models maintain real code, and every turn of it can be proved.

  Start with `remora analyze`, look at the result with `remora diff last`, and
  take it with `remora accept last --all`. Nothing of yours is touched before
  that. `remora COMMAND --help` tells more, with examples.

Options:
{options}

Commands:
{commands}

  Exit codes: 0 done; 1 done, but something needs attention; 2 wrong usage or
  configuration; 3 something outside failed; 130 interrupted.
"""


def front_page() -> str:
    """What `remora --help` prints."""
    commands = {name: line for name, (_, line) in COMMANDS.items()}
    return _PAGE.format(options=_listed(GLOBAL_OPTIONS | _ALONE), commands=_listed(commands))


def _listed(lines: dict[str, str]) -> str:
    width = max(map(len, lines))
    return "\n".join(f"  {name:<{width}}  {line}" for name, line in lines.items())
