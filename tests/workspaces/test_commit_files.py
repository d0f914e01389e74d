"""Contents of a commit are read raw, from a git that may not answer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remora.errors import OutsideError
from remora.files.git import git_output
from remora.workspaces import commit_files
from remora.workspaces.commit_files import committed_files, open_blobs, read_blobs
from tests.memory_limit import memory_limit

LIMIT = 1 << 22
CONTENTS = (b"one\n", b"", b"no end", b"\0\r\n" * 700_000, b"last\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git_output(tmp_path, "init", "-q")
    return tmp_path


@pytest.fixture
def names(root: Path) -> list[str]:
    return [
        git_output(root, "hash-object", "-w", "--stdin", stdin=content).decode().strip()
        for content in CONTENTS
    ]


def file_of(root: Path, name: str) -> Path:
    return root / ".git/objects" / name[:2] / name[2:]


def test_commit_files_come_in_order_and_whoever_has_seen_enough_may_stop(
    root: Path, names: list[str]
) -> None:
    assert tuple(read_blobs(root, [*names, names[0]], LIMIT)) == (*CONTENTS, CONTENTS[0])
    answers = read_blobs(root, names * 100, LIMIT)
    assert next(answers) == CONTENTS[0]
    answers.close()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_large_blob_is_skipped_or_read_in_pieces_without_being_held(root: Path) -> None:
    (root / "large").touch()
    os.truncate(root / "large", 64 << 20)
    large = git_output(root, "hash-object", "-w", "large").decode().strip()
    small = git_output(root, "hash-object", "-w", "--stdin", stdin=b"small").decode().strip()
    with memory_limit():
        assert list(read_blobs(root, [large, small, large, small], LIMIT)) == [
            None, b"small", None, b"small",
        ]  # fmt: skip
        (blob,) = open_blobs(root, [large])
        assert blob.size == 64 << 20
        sizes = [sum(map(len, each.pieces())) for each in open_blobs(root, [large, large])]
        assert sizes == [64 << 20, 64 << 20]


READ = """
import resource, sys
from pathlib import Path
from remora.workspaces.commit_files import open_blobs

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for blob in open_blobs(Path(sys.argv[1]), sys.argv[2:]):
    print(sum(map(len, blob.pieces())))
print(max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) - before)
"""


@pytest.mark.slow
def test_git_does_not_hold_a_large_packed_blob_either(root: Path) -> None:
    """Random content is stored whole, and a packed blob is mapped with its pack."""
    (root / "large").write_bytes(os.urandom(200 << 20))
    words = ("-c", "core.compression=0")
    name = git_output(root, *words, "hash-object", "-w", "large").decode().strip()
    git_output(root, *words, "pack-objects", "-q", ".git/objects/pack/pack", stdin=name.encode())
    git_output(root, "prune-packed")
    assert not file_of(root, name).exists()
    command = [sys.executable, "-c", READ, str(root), name]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    size, kilobytes = map(int, done.stdout.split())
    assert size == 200 << 20
    assert kilobytes < 50_000


def test_one_that_is_gone_is_named(root: Path, names: list[str]) -> None:
    file_of(root, names[2]).unlink()
    with pytest.raises(OutsideError, match=f"no object {names[2]}"):
        list(read_blobs(root, names, LIMIT))


def test_one_that_never_ends_is_named(
    root: Path, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_files, "GIT_STALL_SECONDS", 0.5)
    file_of(root, names[2]).unlink()
    os.mkfifo(file_of(root, names[2]))
    with pytest.raises(OutsideError, match=f"cannot read the object {names[2]}") as raised:
        list(read_blobs(root, names, LIMIT))
    assert "git fsck" in raised.value.hint


def test_a_git_that_ends_is_reported(root: Path, names: list[str]) -> None:
    (root / ".git/HEAD").write_text("nonsense")
    with pytest.raises(OutsideError, match="git"):
        list(read_blobs(root, names, LIMIT))


@pytest.mark.parametrize("name", [b"../a.py", b"/a.py", b"a/../../b.py", b"./a.py"])
def test_files_of_a_commit_that_lead_out_of_the_project_are_left_out(
    root: Path, names: list[str], name: bytes
) -> None:
    """Git itself makes no such commits, but fetches and keeps them."""
    blob = bytes.fromhex(names[0])
    entries = b"".join(b"100644 %s\0%s" % (path, blob) for path in (name, b"good.py"))
    words = ("hash-object", "-w", "-t", "tree", "--literally", "--stdin")
    tree = git_output(root, *words, stdin=entries).decode().strip()
    assert [*committed_files(root, tree)] == ["good.py"]
