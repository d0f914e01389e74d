"""The front page that `remora --help` prints without loading any command."""

from collections.abc import Iterable

COMMANDS = {
    "analyze": ("run.analyze:analyze", "Plan and run jobs; this is the main command."),
    "check": ("run.check:check", "Report what would change; made for hooks and CI."),
    "judge": ("run.judge_command:judge", "Judge a change of yours, an agent or a bot."),
    "worker": ("run.worker:worker", "Run the jobs of other machines' runs."),
    "retry": ("run.retry:retry", "Run a node's job again with feedback."),
    "clean": ("run.clean:clean", "Show and free disk space that is no longer needed."),
    "runs": ("run.runs:runs", "List the runs of this project."),
    "show": ("run.runs:show", "Show the results of a run's jobs."),
    "diff": ("run.runs:diff", "Show what a run would change."),
    "review": ("review.verdict_commands:review", "Review pending changes one by one."),
    "accept": ("review.verdict_commands:accept", "Write changes to your files."),
    "reject": ("review.verdict_commands:reject", "Reject changes."),
    "revert": ("review.verdict_commands:revert", "Undo accepted changes."),
    "report": ("run.report:report", "Write a report of a run."),
    "ui": ("run.ui:ui", "Show runs and their turns in a browser."),
    "trace": ("app.command_groups:trace", "Read, verify and export recorded traces."),
    "hub": ("app.command_groups:hub", "Query callers, callees and tests of your code."),
    "mcp": ("agents.mcp:mcp", "Serve code facts and traces to other agents."),
    "eval": ("agents.eval:eval_", "Compare models and settings on your own code."),
    "model": ("app.command_groups:model", "Show the model, or download its weights."),
    "config": ("app.command_groups:config", "Show settings and where they come from."),
    "database": ("app.command_groups:database", "Set up the PostgreSQL database of a team."),
    "doctor": ("agents.doctor:doctor", "Check that this machine meets the requirements."),
    "agents": ("app.command_groups:agents", "List, check and create agents."),
    "tools": ("app.command_groups:tools", "List, check and run agent tools."),
    "schema": ("agents.schema:schema", "Print JSON Schemas of Remora's formats."),
    "help": ("app.lazy_group:help_", "Show the help of a command, or all commands."),
}
"""Commands by name, each with its `MODULE:ATTRIBUTE` in `remora.cli` and its line on the front page."""

SECTIONS = {
    "Work": ("analyze", "check", "judge", "review"),
    "Decide": ("show", "diff", "accept", "reject", "revert"),
    "Look": ("hub", "ui", "trace", "mcp", "model"),
}
"""The sections of the front page."""
MORE, ALL = "More", "all"
"""The section of all other commands, and the word after `remora help` that shows it, too."""

GLOBAL_OPTIONS = {
    "--root DIR": "Project root. [default: search upwards from here]",
    "--config FILE": "Configuration file. [default: ROOT/remora.yaml]",
    "--json": "Print only a single JSON document to stdout.",
    "-q, --quiet": "Suppress progress and notes on stderr.",
    "-v, --verbose": "Print more details, and tracebacks for internal errors.",
    "--color WHEN": "When to use color: auto, always or never. [default: auto]",
}
"""Options accepted before or after the command."""

_FRONT_PAGE_OPTIONS = {
    "-V, --version": "Show the version and exit.",
    "-h, --help": "Show this message and exit.",
}

_PAGE = """\
Usage: remora [OPTIONS] COMMAND [ARGS]...

  Prove what a small model saw, and what a change of Python code is worth.

  Alone, `remora` names the command that has a result in your project. Your files \
stay untouched until `remora accept`. All commands: `remora help all`; details and \
examples: `remora help COMMAND`.

{sections}
Options:
{options}

  Environment: REMORA_ROOT, REMORA_CONFIG and REMORA_MODEL set --root, --config \
and --model; NO_COLOR, FORCE_COLOR and CLICOLOR_FORCE control colors.

  Exit codes: 0 done; 1 done, but something needs attention; 2 invalid usage or \
configuration; 3 something outside Remora failed; 130 interrupted.
"""


def front_page(titles: Iterable[str] = SECTIONS) -> str:
    """Return the page with some sections, wrapped at the width of the terminal."""
    from shutil import get_terminal_size

    shown = {name for names in SECTIONS.values() for name in names}
    named = {**SECTIONS, MORE: tuple(name for name in COMMANDS if name not in shown)}
    width = max(map(len, COMMANDS))
    sections = [
        f"{title}:\n{_listed({name: COMMANDS[name][1] for name in named[title]}, width)}\n"
        for title in titles
    ]
    options = GLOBAL_OPTIONS | _FRONT_PAGE_OPTIONS
    listed = _listed(options, max(map(len, options)))
    columns = min(get_terminal_size().columns, 80)
    lines = _PAGE.format(sections="\n".join(sections), options=listed).split("\n")
    return "\n".join(part for line in lines for part in _wrapped(line, columns))


def _listed(lines: dict[str, str], width: int) -> str:
    return "\n".join(f"  {name:<{width}}  {line}" for name, line in lines.items())


def _wrapped(line: str, columns: int) -> list[str]:
    """Wrap a line. A line of a list continues below its second column."""
    from textwrap import wrap

    indent = " " * (len(line) - len(line.rpartition("  ")[2]))
    return wrap(line, columns, subsequent_indent=indent, break_on_hyphens=False) or [""]
