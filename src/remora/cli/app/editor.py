"""The user's editor, on a file."""

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from remora.errors import OutsideError


def open_in_editor(path: Path, environ: Mapping[str, str]) -> None:
    """Wait until `$VISUAL`, else `$EDITOR`, else vi has been closed. Raises OutsideError.

    No shell reads the file's name, which comes from a foreign tree.
    """
    editor = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    hint = "set VISUAL or EDITOR to an editor's command"
    try:
        done = subprocess.run([*shlex.split(editor), path], check=False)
    except (OSError, ValueError) as error:
        raise OutsideError(f"{editor} could not be started: {error}", hint=hint) from error
    if done.returncode != 0:
        raise OutsideError(f"{editor} ended with {done.returncode}", hint=hint)
