"""The proposed files of a change set that a user can edit, and what an edit of them must keep."""

import msgspec

from remora.errors import UsageError
from remora.workspaces.apply.transaction import FilePatch
from remora.workspaces.copy.changes import is_text


def is_editable(file: FilePatch) -> bool:
    """Return True if a file exists after the change and is text."""
    return file.theirs is not None and is_text(file.theirs)


def with_edited_content(file: FilePatch, content: bytes) -> FilePatch:
    """Return a proposed file with other content. Raises UsageError if only white space is left."""
    if (file.theirs or b"").strip() and not content.strip():
        raise UsageError(f"the edited copy of {file.path} is empty, so nothing was decided")
    return msgspec.structs.replace(file, theirs=content)
