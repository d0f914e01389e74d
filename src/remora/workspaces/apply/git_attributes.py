"""Detection of files that git would convert on commit with filters or encodings that Remora does
not apply.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from remora.files.git import git_output

_ATTRIBUTES = ("filter", "working-tree-encoding", "ident")
_OFF = ("unspecified", "unset")


def altered_on_commit(root: Path, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that git would convert on commit, and the reason for each.

    Files in which git would only convert line endings are skipped. Clean filters are not run.
    Raises OutsideError if git fails.
    """
    if not paths:
        return
    words = ("check-attr", "-z", "--stdin", *_ATTRIBUTES)
    query = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    fields = git_output(root, *words, stdin=query).split(b"\0")[:-1]
    for at in range(0, len(fields), 3):
        path, name, value = (p.decode("utf-8", "surrogateescape") for p in fields[at : at + 3])
        if value in _OFF or (name == "filter" and not _runs(root, value)):
            continue
        attribute = name if value == "set" else f"{name}={value}"
        yield path, f"git converts it on commit ({attribute}), which Remora does not do"


def _runs(root: Path, driver: str) -> bool:
    """Return True if the filter is configured. Git ignores other filters."""
    keys = git_output(root, "config", "--name-only", "--list", succeeds=(0, 1)).decode(
        "utf-8", "replace"
    )
    names = {f"filter.{driver}.clean", f"filter.{driver}.process"}
    return not names.isdisjoint(keys.splitlines())
