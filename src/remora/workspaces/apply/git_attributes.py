"""Which files git alters as it commits them, by commands or in ways that are not done here."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from remora.files.git import git_output

_ASKED = ("filter", "working-tree-encoding", "ident")
_OFF = ("unspecified", "unset")


def altered_on_commit(root: Path, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Files (by path beneath `root`) whose committed content is not what stands in the working
    tree, and why, but for line ends.

    A clean filter is a command that a repository's configuration names: it is not run.
    Raises OutsideError.
    """
    if not paths:
        return
    words = ("check-attr", "-z", "--stdin", *_ASKED)
    asked = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    said = git_output(root, *words, stdin=asked).split(b"\0")[:-1]
    for at in range(0, len(said), 3):
        path, name, value = (part.decode("utf-8", "surrogateescape") for part in said[at : at + 3])
        if value in _OFF or (name == "filter" and not _runs(root, value)):
            continue
        told = name if value == "set" else f"{name}={value}"
        yield path, f"git alters it as it is committed ({told}), which is not done here"


def _runs(root: Path, driver: str) -> bool:
    """Whether the filter is configured: git ignores one that is not."""
    keys = git_output(root, "config", "--name-only", "--list", succeeds=(0, 1)).decode(
        "utf-8", "replace"
    )
    wanted = {f"filter.{driver}.clean", f"filter.{driver}.process"}
    return not wanted.isdisjoint(keys.splitlines())
