"""Asks for consent to send code to addresses that a project's file chooses."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.bootstrap.invocation import Invocation
    from remora.runs.project import Project


def ask_for_addresses(options: Options, project: "Project", invocation: "Invocation") -> "Project":
    """Ask for consent to the addresses that need it, and return the project with the answer.

    Without a terminal, or if the user declines, the project is returned unchanged, and no model is
    opened at these addresses.
    """
    from remora.models.agreed_addresses import keep_agreed, unagreed_addresses, with_agreed

    left = unagreed_addresses(project.config)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not (options.json or options.quiet)
    if not left or not asks:
        return project
    shown = escape_line(", ".join(left))
    root = escape_line(str(project.root))
    click.echo(
        f"The settings of the project {root} name a model server on this machine: {shown}\n"
        "Source code of the project, and what tools find in it, would be sent to whatever program "
        "listens there. Your API key would not be sent.",
        err=True,
    )
    if not click.confirm(f"Send this project's code to {shown}, now and later?", err=True):
        return project
    file = invocation.agreed_file(project.root)
    keep_agreed(file, project.root, left)
    return replace(project, config=with_agreed(project.config, {}, file, project.root)[0])
