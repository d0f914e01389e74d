"""Opens the files that a change set proposes in the user's editor."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from remora.cli.app.editor import open_in_editor
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
