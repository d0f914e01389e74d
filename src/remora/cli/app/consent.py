"""Consent to the addresses to which a project's code may be sent."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.cli.app.project_context import complete_journals_of, note_always_on
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.bootstrap.invocation import Invocation
    from remora.models.agreed_addresses import Destination
    from remora.runs.project import Project


def open_with_consent(
    options: Options,
    invocation: "Invocation",
    paths: Sequence[Path] = (),
    *,
    asks: bool = True,
    needs_consent: bool = False,
) -> "Project":
    """Open the project that contains `paths`, and complete an interrupted accept.

    Print the project's root if the current directory is outside it. If `asks` is true, ask for consent to
    addresses. Raises ConfigError with `needs_consent` if the user does not consent.
    """
    from remora.bootstrap.open_project import open_project

    project = open_project(invocation, paths)
    if options.root is None and not Path.cwd().is_relative_to(project.root):
        note(options, f"using {project.root} as the project, with records in its .agentfs/")
    note_always_on(options, project.config)
    complete_journals_of(options, project)
    if not asks:
        return project
    return ask_for_addresses(options, project, invocation, needs_consent=needs_consent)


def ask_for_addresses(
    options: Options, project: "Project", invocation: "Invocation", *, needs_consent: bool = False
) -> "Project":
    """Ask for consent to the addresses that need it, and return the project with the answer.

    Without a terminal, or if the user declines, the project is returned unchanged, and no model is
    opened at these addresses. Raises ConfigError instead with `needs_consent`.
    """
    from remora.models.agreed_addresses import (
        keep_agreed,
        require_agreed,
        unagreed_addresses,
        with_agreed,
    )

    left = unagreed_addresses(project.config)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not (options.json or options.quiet)
    if left and asks and _agrees(project, invocation, left):
        entries = list(dict.fromkeys(destination.entry for destination in left))
        file = invocation.agreed_file(project.root)
        keep_agreed(file, project.root, entries)
        config, _ = with_agreed(project.config, {}, file, project.root)
        return replace(project, config=config)
    if needs_consent:
        require_agreed(project.config)
    return project


def _agrees(project: "Project", invocation: "Invocation", left: "Iterable[Destination]") -> bool:
    from remora.bootstrap.open_project import key_for

    click.echo(
        f"The settings of the project {escape_line(str(project.root))} choose where its source "
        "code, and what tools find in it, are sent:",
        err=True,
    )
    for destination in left:
        has_key = key_for(invocation, project.config, destination.section) is not None
        click.echo(escape_line(_about(destination, has_key=has_key)), err=True)
    entries = dict.fromkeys(destination.entry for destination in left)
    shown = escape_line(", ".join(entries))
    return click.confirm(f"Send this project's code to {shown}, now and later?", err=True)


def _about(place: "Destination", *, has_key: bool) -> str:
    whose = (
        "an address on this machine that the project names: whatever program listens there"
        if place.is_projects
        else "an address of your own settings"
    )
    model = f"; the project names the model {place.name}" if place.name else ""
    return f"  {place.address} ({whose}{model}; {'with your' if has_key else 'without an'} API key)"
