"""Key that identifies a project on every machine."""

import socket
from pathlib import Path

from remora.errors import OutsideError
from remora.files.git import git_output

_FIRST_COMMIT = ("rev-list", "--first-parent", "--max-parents=0", "HEAD")


def project_key(root: Path) -> str:
    """Return the key of the project in the folder `root`.

    All full clones of a git repository have the same key, which contains its first commit and the
    folder's path in the repository. Any other project's key contains the machine and the path. Only
    the first parents of merges count, so a merged history does not change the key.
    """
    try:
        shallow = git_output(root, "rev-parse", "--is-shallow-repository").strip() == b"true"
        first = b"" if shallow else git_output(root, *_FIRST_COMMIT)
        folder = git_output(root, "rev-parse", "--show-prefix").removesuffix(b"\n")
    except OutsideError:
        first = folder = b""
    if not first:
        return f"{socket.gethostname()}:{root.resolve()}"
    return f"{first.strip().decode()}:{folder.decode('utf-8', 'backslashreplace')}"
