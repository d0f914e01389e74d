"""Opens a file in the user's editor."""

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from remora.errors import OutsideError


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
