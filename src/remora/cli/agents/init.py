"""The `init` command, which looks at the project and writes a short `remora.yaml`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, wrapped
from remora.cli.app.project_context import invocation_of, next_command
from remora.cli.app.working import working
from remora.errors import DiskError, UsageError
from remora.text import count, escape_line, some_of

if TYPE_CHECKING:
    from remora.usecases.look_at_project import ProjectLook

_MOST_FOLDERS = 4
"""Folders that are named (decision)."""


@command("init", examples=("remora init", "remora init --root path/to/project"))
def init(options: Options) -> int:
    """Look at the project, say what was found, and write a short remora.yaml.

    The file is optional: without it, the same is found in each run. `remora config show` lists all
    settings, and `remora schema config` prints a schema for editors. You can also keep yours in
    [tool.remora] in pyproject.toml.
    """
    with working(options, "looking at the project"):
        from remora.config.pyproject import read_settings
        from remora.usecases.look_at_project import look_at_project

        invocation = invocation_of(options)
        root = invocation.find_root()
        path = root / "remora.yaml"
        used = path if path.exists() else read_settings(root) and root / "pyproject.toml"
        if used:
            raise UsageError(
                f"{used} already {'exists' if used == path else 'has settings'}",
                hint="edit this file; `remora config show` lists all settings",
            )
        found = look_at_project(invocation)
    text = _settings_text(found)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise DiskError(
            f"cannot write {path}: {error.strerror}",
            hint="make the folder writable, or choose another folder with --root",
        ) from error
    analyze = next_command(options, root, "analyze")
    document = {"path": str(path), "found": found._asdict()}
    emit(
        options, document, [*_look_lines(found), "", *wrapped(f"wrote {path}"), f"next: {analyze}"]
    )
    return 0


def look(options: Options) -> bool:
    """Print the command that has a result in the project. Return False if there is no project."""
    from remora.files.project_root import is_project

    invocation = invocation_of(options)
    if not is_project(invocation.find_root()):
        return False
    with working(options, "looking at the project"):
        from remora.bootstrap.open_project import open_project
        from remora.cli.views.plan_view import step_document
        from remora.usecases.look_at_project import next_step

        project = open_project(invocation)
        step = step_document(options, project.root, next_step(invocation, project))
    document = {"root": str(project.root), "next": step}
    texts = filter(None, (step["text"], step["costly"]))
    emit(options, document, (line for text in texts for line in wrapped(text)))
    return True


def _look_lines(found: "ProjectLook") -> Iterator[str]:
    """Yield what was found, and what is missing."""
    folders = sorted(found.folders, key=lambda name: -found.folders[name])
    yield from wrapped(
        f"code      {count(sum(found.folders.values()), 'Python file')} in "
        f"{some_of(folders, _MOST_FOLDERS) or 'no folder'}, {count(found.tests, 'test file')}",
        " " * 10,
    )
    yield from wrapped(f"python    {found.python or found.problem}", " " * 10)
    yield from wrapped(f"judges    {', '.join(found.gates) or 'none'}", " " * 10)
    for gap in found.missing:
        yield from wrapped(f"missing   {gap}", " " * 10)


def _settings_text(found: "ProjectLook") -> str:
    """Return the file's text. An interpreter outside the project is not the same for everybody."""
    is_inside = found.python and not Path(found.python).is_absolute()
    python = f"python: {found.python}" if is_inside else "# python: .venv/bin/python"
    judges = escape_line(", ".join(found.gates) or "nothing")
    return (
        "# Settings of Remora; `remora config show` lists all of them.\n"
        "# The interpreter with the project's packages and pytest:\n"
        f"{python}\n"
        "# Globs of files that agents leave alone, such as 'vendor/**':\n"
        "# exclude: []\n"
        f"# Seconds for the project's own checks ({judges}); 0 runs none:\n"
        "# gates: {time_s: 300}\n"
    )
