"""Opens the files that a change set proposes in the user's editor."""

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from remora.errors import OutsideError
from remora.runs.review.edited_files import is_editable, with_edited_content
from remora.workspaces.apply.transaction import FilePatch


def edit_files(files: Sequence[FilePatch], environ: Mapping[str, str]) -> list[FilePatch]:
    """Open each text file as it is after the change, and return the edited files.

    The editor gets a copy, so the user's file stays as it is until the result is verified. Raises
    OutsideError if the editor fails or a file is missing afterwards, and UsageError if a file is
    empty.
    """
    with TemporaryDirectory(prefix="remora-edit-") as folder:
        return [
            _edited(each, Path(folder, str(number)), environ) if is_editable(each) else each
            for number, each in enumerate(files)
        ]


def _edited(file: FilePatch, folder: Path, environ: Mapping[str, str]) -> FilePatch:
    folder.mkdir()
    copy = folder / Path(file.path).name  # the editor recognizes the language by its name
    copy.write_bytes(file.theirs or b"")
    open_in_editor(copy, environ)
    try:
        after = copy.read_bytes()
    except OSError as error:
        raise OutsideError(f"the edited copy of {file.path} cannot be read: {error}") from error
    return with_edited_content(file, after)


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
