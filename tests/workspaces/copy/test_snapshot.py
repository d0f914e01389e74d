"""A base is a frozen copy, and git with the stored objects alone gives it back to the byte."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from remora.errors import DiskError, OutsideError, UsageError
from remora.files.project_files import project_files
from remora.trace.content.objects import ObjectStore
from remora.workspaces.commit_files import pin_commit, unpin_commit
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseFile, BaseSnapshot, restore_base, take_base
from tests.memory_limit import memory_limit


def git(root: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("committed")
    (root / "pkg").mkdir()
    (root / "pkg/__init__.py").write_bytes(b"")
    (root / "pkg/a.py").write_bytes(b"a = 1\n")
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / ".gitignore").write_bytes(b"_version.py\n*.bin\n.env\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    return root


@pytest.fixture
def repository(committed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(committed, tmp_path / "project"))


def take(root: Path, folder: Path) -> BaseSnapshot:
    return take_base(root, project_files(root), folder)


def restored(base: BaseSnapshot, folder: Path) -> BaseSnapshot:
    """Rebuilt from git and the objects of the differing files, with no look at the tree."""
    contents = {f.sha256: base.read(p) for p, f in base.differing.items() if f is not None}

    def read_object(sha256: str) -> list[bytes]:
        content = contents[sha256]
        assert content is not None
        return [content]

    return restore_base(base.root, base.commit, base.differing, read_object, folder)


def contents(base: BaseSnapshot) -> dict[str, bytes | None]:
    return {path: base.read(path) for path in base.files}


def test_a_clean_tree_differs_in_nothing_and_its_copy_shares_no_file(
    repository: Path, tmp_path: Path
) -> None:
    base = take(repository, tmp_path / "base")
    assert base.differing == {}
    assert base.files["pkg/a.py"].mode == 0o644
    assert base.files["run.sh"].mode == 0o755
    assert base.read("pkg/a.py") == b"a = 1\n"
    assert base.read("none") is None
    for path in base.files:
        assert (base.folder / path).stat().st_ino != (repository / path).stat().st_ino
        assert (base.folder / path).stat().st_nlink == 1
    (repository / "pkg/a.py").write_bytes(b"later\n")
    assert base.read("pkg/a.py") == b"a = 1\n"


def test_a_sparse_checkout_leaves_no_python_out(repository: Path, tmp_path: Path) -> None:
    git(repository, "status")  # git knows that no file has changed
    git(repository, "sparse-checkout", "set", "--no-cone", "/.gitignore")
    base = take(repository, tmp_path / "base")
    assert project_files(repository).paths == (".gitignore",)
    assert base.read("pkg/a.py") == b"a = 1\n"
    assert base.differing == {"run.sh": None}


def test_differing_are_modified_untracked_deleted_and_small_ignored_files(
    repository: Path, tmp_path: Path
) -> None:
    (repository / "pkg/a.py").write_bytes(b"a = 2\n")
    (repository / "new.py").write_bytes(b"new\n")
    (repository / "run.sh").unlink()
    (repository / "pkg/_version.py").write_bytes(b"version = 1\n")
    (repository / "pkg/big.bin").write_bytes(b"x" * 70000)
    (repository / "pkg/.env").write_bytes(b"KEY=1")
    (repository / ".env").write_bytes(b"KEY=1")
    (repository / "top.bin").write_bytes(b"the user's own")
    base = take(repository, tmp_path / "base")
    assert set(base.differing) == {"pkg/a.py", "new.py", "run.sh", "pkg/_version.py"}
    assert base.differing["run.sh"] is None
    assert "run.sh" not in base.files
    assert sorted(base.files) == [
        ".gitignore",
        "new.py",
        "pkg/__init__.py",
        "pkg/_version.py",
        "pkg/a.py",
    ]


def test_filters_and_line_endings_make_a_file_differ(repository: Path, tmp_path: Path) -> None:
    """git calls such a file clean, but its blob alone would not give these bytes back."""
    git(repository, "config", "core.autocrlf", "true")
    (repository / "pkg/a.py").write_bytes(b"a = 1\r\n")
    git(repository, "add", "pkg/a.py")
    assert git(repository, "status", "--porcelain") == ""
    base = take(repository, tmp_path / "base")
    assert set(base.differing) == {"pkg/a.py"}
    assert contents(restored(base, tmp_path / "again")) == contents(base)


def test_execution_bits_count_and_other_bits_do_not(repository: Path, tmp_path: Path) -> None:
    (repository / "pkg/a.py").chmod(0o755)
    (repository / "run.sh").chmod(0o775)
    base = take(repository, tmp_path / "base")
    assert set(base.differing) == {"pkg/a.py"}
    assert {path: base.files[path].mode for path in ("pkg/a.py", "run.sh")} == {
        "pkg/a.py": 0o755,
        "run.sh": 0o755,
    }
    assert dict(restored(base, tmp_path / "again").files) == dict(base.files)


def test_without_git_all_files_differ(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "a.py").write_bytes(b"a")
    base = take(root, tmp_path / "base")
    assert base.commit is None
    assert set(base.differing) == {"a.py"}
    assert contents(restored(base, tmp_path / "again")) == {"a.py": b"a"}


def test_a_root_within_the_repository(repository: Path, tmp_path: Path) -> None:
    (repository / "pkg/a.py").write_bytes(b"a = 2\n")
    base = take(repository / "pkg", tmp_path / "base")
    assert set(base.files) == {"__init__.py", "a.py"}
    assert set(base.differing) == {"a.py"}
    assert contents(restored(base, tmp_path / "again")) == contents(base)


def test_a_link_in_place_of_a_committed_file(repository: Path, tmp_path: Path) -> None:
    (repository / "pkg/a.py").unlink()
    (repository / "pkg/a.py").symlink_to("__init__.py")
    base = take(repository, tmp_path / "base")
    assert base.differing == {"pkg/a.py": None}


names = some.sampled_from(
    ["pkg/a.py", "pkg/b.py", "run.sh", "x/y/z", os.fsdecode(b"caf\xe9.py"), "n\nl"]
)
edits = some.lists(
    some.tuples(
        names,
        some.one_of(some.none(), some.binary(max_size=20)),
        some.sampled_from([0o644, 0o755, 0o600]),
    ),
    max_size=6,
)


@settings(max_examples=15)
@given(first=edits, second=edits)
def test_any_tree_is_restored_from_git_and_objects_alone(
    first: list[tuple[str, bytes | None, int]],
    second: list[tuple[str, bytes | None, int]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = tmp_path_factory.mktemp("any")
    root = place / "root"
    root.mkdir()
    git(root, "init", "-q")
    for step in (first, second):
        for path, content, mode in step:
            file = root / path
            if content is None:
                file.unlink(missing_ok=True)
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                file.chmod(mode)
        if step is first:
            git(root, "add", ".")
            git(root, "commit", "-qm", "one", "--allow-empty")
    base = take(root, place / "base")
    (root / "later.py").write_bytes(b"the tree moves on")
    again = restored(base, place / "again")
    assert dict(again.files) == dict(base.files)
    assert contents(again) == contents(base)


def test_a_damaged_object_is_refused(repository: Path, tmp_path: Path) -> None:
    differing = {"a.py": BaseFile("0" * 64, 0o644)}
    with pytest.raises(DiskError, match=r"a\.py is damaged"):
        restore_base(repository, None, differing, lambda _: [b"other"], tmp_path / "again")


def test_a_pinned_commit_survives_its_branch(repository: Path, tmp_path: Path) -> None:
    base = take(repository, tmp_path / "base")
    assert base.commit
    pin_commit(repository, "shop", "run-1", base.commit)
    git(repository, "checkout", "-q", "--orphan", "other")
    git(repository, "commit", "-qm", "other")
    git(
        repository,
        "branch",
        "-D",
        "-q",
        *git(repository, "branch", "--format=%(refname:short)").replace("other", "").split(),
    )
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "-q", "--prune=now")
    assert contents(restored(base, tmp_path / "again")) == contents(base)
    unpin_commit(repository, "run-1")
    unpin_commit(repository, "run-1")
    git(repository, "gc", "-q", "--prune=now")
    with pytest.raises(OutsideError):
        restored(base, tmp_path / "gone")


def test_a_pin_has_the_name_of_a_run(repository: Path) -> None:
    with pytest.raises(UsageError):
        pin_commit(repository, "shop", "../heads/main", "HEAD")


def test_what_tools_leave_behind_is_not_part_of_a_base(repository: Path, tmp_path: Path) -> None:
    """Committed or not: a workspace does not look there, and must not take it for deleted."""
    for name in ("pkg/__pycache__/a.pyc", ".mypy_cache/kept.txt", "__pycache__/mine.py"):
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_bytes(b"precious")
    git(repository, "add", "-f", "pkg/__pycache__/a.pyc")
    git(repository, "commit", "-qm", "with a cache")
    base = take(repository, tmp_path / "base")
    assert set(base.files) == {".gitignore", "pkg/__init__.py", "pkg/a.py", "run.sh"}
    assert base.differing == {"pkg/__pycache__/a.pyc": None}
    with SlotDriver(base, tmp_path / "slots").open() as workspace:
        assert workspace.snapshot() == {}
    restored = restore_base(
        repository, base.commit, base.differing, lambda _: [b""], tmp_path / "restored"
    )
    assert restored.files == base.files


NAMES = some.sampled_from(
    [
        "a.py",
        "b.pyc",
        ".hidden",
        "__pycache__",
        ".gitignore",
        "data",
        ".venv",
        "build",
        ".env",
        "x~",
    ]
)


@pytest.mark.slow
@given(paths=some.sets(some.lists(NAMES, min_size=1, max_size=3).map(tuple), max_size=12))
def test_a_fresh_workspace_differs_in_nothing(
    paths: set[tuple[str, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("any")
    for parts in sorted(paths):
        path = root.joinpath("project", *parts)
        if not any(above.is_file() for above in path.parents) and not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"*.py\n" if parts[-1] == ".gitignore" else b"x = 1\n")
    (root / "project").mkdir(exist_ok=True)
    git(root / "project", "init", "-q")
    for committed in (False, True):
        if committed:
            git(root / "project", "add", "-f", ".")
            git(root / "project", "commit", "-qm", "all", "--allow-empty")
        base = take(root / "project", root / f"base-{committed}")
        with SlotDriver(base, root / "slots").open() as workspace:
            assert workspace.snapshot() == {}


@pytest.mark.slow
def test_large_files_are_copied_stored_and_restored_in_pieces(
    repository: Path, tmp_path: Path
) -> None:
    size = 48 << 20
    (repository / "kept.dat").write_bytes(bytes(size))
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "large")
    (repository / "changed.dat").write_bytes(b"\1" * size)
    (tmp_path / "objects").mkdir()
    store = ObjectStore(tmp_path / "objects")
    with memory_limit():
        base = take(repository, tmp_path / "base")
        (differing,) = filter(None, base.differing.values())
        assert [*base.differing] == ["changed.dat"]
        store.put_pieces(differing.sha256, base.pieces("changed.dat"))
        assert store.problem(differing.sha256) is None
        again = restore_base(
            repository, base.commit, base.differing, store.pieces, tmp_path / "again"
        )
        assert again.files == base.files
        with SlotDriver(base, tmp_path / "slots").open() as workspace:
            assert workspace.snapshot() == {}
            assert (workspace.tree / "kept.dat").stat().st_size == size


def test_a_file_that_cannot_be_copied_has_its_reason(repository: Path, tmp_path: Path) -> None:
    with (repository / "pkg/huge.py").open("wb") as file:
        file.truncate(2 << 30)
    with memory_limit():
        base = take(repository, tmp_path / "base")
    assert base.left_out == {"pkg/huge.py": "2,048.0 MiB, larger than 1024 MiB"}
    assert "pkg/huge.py" not in base.files
    assert not (base.folder / "pkg/huge.py").exists()
