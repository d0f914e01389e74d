"""Opens the files that a change set proposes in the user's editor."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from remora.cli.app.editor import open_in_editor
from remora.errors import OutsideError
from remora.workspaces.apply.transaction import FilePatch
from remora.workspaces.copy.changes import is_text


def edit_files(files: Sequence[FilePatch], environ: Mapping[str, str]) -> list[FilePatch]:
    """Open each text file as it is after the change, and return the edited files.

    The editor gets a copy, so the user's file stays as it is until the result is verified. Raises
    OutsideError if the editor fails, or if a file is missing or empty afterwards.
    """
    with TemporaryDirectory(prefix="remora-edit-") as folder:
        return [
            _edited(each, Path(folder, str(number)), environ)
            if each.theirs is not None and is_text(each.theirs)
            else each
            for number, each in enumerate(files)
        ]


def _edited(file: FilePatch, folder: Path, environ: Mapping[str, str]) -> FilePatch:
    folder.mkdir()
    copy = folder / Path(file.path).name  # the editor recognizes the language by its name
    before = file.theirs or b""
    copy.write_bytes(before)
    open_in_editor(copy, environ)
    try:
        after = copy.read_bytes()
    except OSError as error:
        raise OutsideError(f"the edited copy of {file.path} cannot be read: {error}") from error
    if before.strip() and not after.strip():
        raise OutsideError(f"the edited copy of {file.path} is empty, so nothing was decided")
    return msgspec.structs.replace(file, theirs=after)
