"""Asks for consent to send code to addresses that a project's file chooses."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options
from remora.cli.app.project_context import complete_journals_of
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.bootstrap.invocation import Invocation
    from remora.models.agreed_addresses import Destination
    from remora.runs.project import Project


def ask_for_addresses(options: Options, project: "Project", invocation: "Invocation") -> "Project":
    """Ask for consent to the addresses that need it, and return the project with the answer.

    Without a terminal, or if the user declines, the project is returned unchanged, and no model is
    opened at these addresses.
    """
    from remora.bootstrap.open_project import key_for
    from remora.models.agreed_addresses import keep_agreed, unagreed_addresses, with_agreed

    left = unagreed_addresses(project.config)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not (options.json or options.quiet)
    if not left or not asks:
        return project
    click.echo(
        f"The settings of the project {escape_line(str(project.root))} choose where its source "
        "code, and what tools find in it, are sent:",
        err=True,
    )
    for destination in left:
        has_key = key_for(invocation, project.config, destination.section) is not None
        click.echo(escape_line(_about(destination, has_key=has_key)), err=True)
    entries = list(dict.fromkeys(destination.entry for destination in left))
    shown = escape_line(", ".join(entries))
    if not click.confirm(f"Send this project's code to {shown}, now and later?", err=True):
        return project
    file = invocation.agreed_file(project.root)
    keep_agreed(file, project.root, entries)
    return replace(project, config=with_agreed(project.config, {}, file, project.root)[0])


def open_with_consent(options: Options, invocation: "Invocation") -> "Project":
    """Open the project, ask for consent to addresses, and complete an interrupted accept."""
    from remora.bootstrap.open_project import open_project

    project = ask_for_addresses(options, open_project(invocation), invocation)
    complete_journals_of(options, project)
    return project


def _about(place: "Destination", *, has_key: bool) -> str:
    whose = (
        "an address on this machine that the project names: whatever program listens there"
        if place.is_projects
        else "an address of your own settings"
    )
    model = f"; the project names the model {place.name}" if place.name else ""
    return f"  {place.address} ({whose}{model}; {'with your' if has_key else 'without an'} API key)"
