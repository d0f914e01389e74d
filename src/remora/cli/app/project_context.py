"""The invocation of a command, and the project that it uses."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.errors import DiskError

if TYPE_CHECKING:
    from remora.bootstrap.invocation import Invocation
    from remora.config.schema import Config
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
