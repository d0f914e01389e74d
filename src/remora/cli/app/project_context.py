"""The project that a command uses, and consent to the addresses to which its code may be sent."""

import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.errors import DiskError
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.bootstrap.invocation import Invocation
    from remora.config.schema import Config
    from remora.models.agreed_addresses import Destination
    from remora.runs.project import Project, ProjectRecords
    from remora.trace.trace_folder import TraceFolder


def invocation_of(options: Options, flags: Mapping[str, Any] | None = None) -> "Invocation":
    """Return the environment, current directory and options of this process."""
    from remora.bootstrap.invocation import Invocation

    return Invocation(
        environ=os.environ,
        folder=_folder(),
        root=options.root,
        config_file=options.config,
        flags=flags or {},
    )


def _folder() -> Path:
    """Return the current directory. Raises DiskError if it no longer exists."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise DiskError(
            "the current directory no longer exists",
            hint="change to another directory and try again",
        ) from None


def config_of(options: Options) -> "tuple[Invocation, Config]":
    """Return the invocation and the configuration. Raises ConfigError if the latter is invalid."""
    from remora.bootstrap.invocation import open_config

    invocation = invocation_of(options)
    return invocation, open_config(invocation, invocation.find_root())


def project_of(options: Options) -> "Project":
    """Return the current project, after completing an interrupted accept."""
    from remora.bootstrap.open_project import open_project

    project = open_project(invocation_of(options))
    note_always_on(options, project.config)
    complete_journals_of(options, project)
    return project


def recorded_project(options: Options) -> "ProjectRecords":
    """Return the current project for a command that only reads records."""
    from remora.bootstrap.open_project import open_records

    project = open_records(invocation_of(options))
    if project.has_unfinished_accept:
        project_of(options)
    return project


def complete_journals_of(options: Options, project: "Project") -> None:
    """Finish or undo an interrupted accept, and print what was done."""
    if not project.has_unfinished_accept:
        return
    from remora.runs.review.journals import recover

    note(options, *recover(project))


def note_always_on(options: Options, config: "Config") -> None:
    """Print what to do with each setting that is given and has no effect of its own."""
    notes = {
        "enabled": f"always on; write runner.memory.mode: {config.runner.memory.mode} instead",
        "trace_indexing": "always on; remove this setting",
    }
    given = [key for key in notes if config.layer_of("runner", "memory", key)]
    note(options, *(f"runner.memory.{key}: {notes[key]}" for key in given))


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


def trace_folder_of(options: Options) -> "TraceFolder":
    """Return the project's streams. The configuration is read only if it may name a database.

    Raises DiskError if the folder of the streams is a symbolic link.
    """
    from remora.bootstrap.open_trace import open_trace_folder

    invocation = invocation_of(options)
    return open_trace_folder(invocation, invocation.find_root())


def note_invalid_names(options: Options, folder: "TraceFolder") -> None:
    """Name the rows of a database that were left out of a list, because no stream has such a name."""
    names = sorted(folder.invalid_names())
    note(options, *(f"left out: {name!r} in {folder.place} is not a stream" for name in names))


def next_command(options: Options, root: Path, *words: str) -> str:
    """Return a command that the user can run next.

    The command includes `--root` if the project cannot be found from the current directory.
    """
    from remora.files.project_root import find_root

    named = [] if find_root(Path.cwd()) == root else ["--root", str(options.root or root)]
    return shlex.join(["remora", *words, *named])
