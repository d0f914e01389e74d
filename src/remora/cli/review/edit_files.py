"""Opens the files that a change proposes in the user's editor."""

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec

from remora.cli.app.output import print_lines
from remora.cli.review.questions import ask_key
from remora.errors import OutsideError, UsageError
from remora.judges.checks import parse_errors
from remora.rmtree import temporary_folder
from remora.text import escape_line
from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.apply.merge_lines import LineConflict, ended
from remora.workspaces.copy.changes import is_text

_MARKER = re.compile(rb"^(?:<<<<<<< yours|>>>>>>> agent)$", re.MULTILINE)
_BOTH = re.compile(rb"^<<<<<<< yours$.*?^>>>>>>> agent$", re.MULTILINE | re.DOTALL)
_ANSWERS = {"m": "mine", "a": "agent's", "e": "edit"}
_WHOSE = "  you edited the same lines: [m]ine [a]gent's [e]dit both, other keys for later "


def both_versions(lines: LineConflict) -> bytes:
    """Return both versions of lines between markers, for the editor."""
    versions = ended(lines.ours), ended(lines.theirs)
    return b"<<<<<<< yours\n%b=======\n%b>>>>>>> agent\n" % versions


def ask_whose(files: Sequence[FilePatch]) -> str:
    """Show the lines of `both_versions` in files, and return the key that says whose to take."""
    for file in files:
        for both in _BOTH.findall(file.theirs or b""):
            lines = both.decode("utf-8", "replace").split("\n")
            print_lines(escape_line(f"  {line}") for line in lines)
    key = ask_key(_WHOSE)
    click.echo(_ANSWERS.get(key, "later"))
    return key


def why_unfinished(files: Sequence[FilePatch]) -> str:
    """Return why edited files cannot be written: markers that are left, or a syntax error."""
    for file in files:
        if _MARKER.search(file.theirs or b""):
            return f"{file.path} still has conflict markers"
    return parse_errors({file.path: file.theirs for file in files})


def edit_files(files: Sequence[FilePatch], environ: Mapping[str, str]) -> list[FilePatch]:
    """Open each text file as it is after the change, and return the edited files.

    The editor gets a copy, so the user's file stays as it is until the result is verified. Raises
    OutsideError if the editor fails or a file is missing afterwards, and UsageError if a file is
    empty.
    """
    with temporary_folder("edit-") as folder:
        return [
            _edit(file, file.theirs, folder / str(number), environ)
            if file.theirs is not None and is_text(file.theirs)
            else file
            for number, file in enumerate(files)
        ]


def _edit(file: FilePatch, before: bytes, folder: Path, environ: Mapping[str, str]) -> FilePatch:
    folder.mkdir()
    copy = folder / Path(file.path).name  # the editor recognizes the language by its name
    copy.write_bytes(before)
    open_in_editor(copy, environ)
    try:
        after = copy.read_bytes()
    except OSError as error:
        raise OutsideError(f"the edited copy of {file.path} cannot be read: {error}") from error
    if before.strip() and not after.strip():
        raise UsageError(f"the edited copy of {file.path} is empty, so nothing was decided")
    return msgspec.structs.replace(file, theirs=after)


def open_in_editor(path: Path, environ: Mapping[str, str]) -> None:
    """Open `path` in `$VISUAL`, `$EDITOR` or vi, and wait for the editor to exit.

    No shell is used, because the file name is untrusted. Raises OutsideError if the editor fails.
    """
    editor = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    hint = "set VISUAL or EDITOR to an editor command"
    try:
        done = subprocess.run([*shlex.split(editor), path], check=False)
    except (OSError, ValueError) as error:
        raise OutsideError(f"{editor} could not be started: {error}", hint=hint) from error
    if done.returncode != 0:
        raise OutsideError(f"{editor} exited with code {done.returncode}", hint=hint)
