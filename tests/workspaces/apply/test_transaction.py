"""Applying a change: all of it or nothing, whatever the user does, whenever we are killed."""

import errno
import json
import os
import shutil
import signal
import stat as st
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from remora.errors import Conflict, DiskError
from remora.workspaces.apply import atomic_rename as exchanges
from remora.workspaces.apply.atomic_rename import repair_swap, swap_by_renames, swap_names
from remora.workspaces.apply.journal import Journal
from remora.workspaces.apply.merge_change_set import FileConflict, FilePatch, prepare_changes
from remora.workspaces.apply.transaction import recover_journal, write_changes
from remora.workspaces.file_syscalls import rename_noreplace

OLD = {"a.py": b"a = 1\n", "pkg/b.py": b"b = 1\r\nc = 1\r\n", "gone.py": b"gone\n"}
NEW = {"a.py": b"a = 2\n", "pkg/b.py": b"b = 2\r\nc = 1\r\n", "new/deep/n.py": b"new\n"}


def patch(path: str, base: bytes | None, theirs: bytes | None, mode: int = 0o644) -> FilePatch:
    return FilePatch(path=path, base=base, theirs=theirs, mode=mode)


PATCHES = [patch(path, OLD.get(path), NEW.get(path)) for path in sorted({*OLD, *NEW})]


def plant(root: Path) -> None:
    for path, content in OLD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    (root / "a.py").chmod(0o640)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    plant(root)
    return root


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that does not tell who has a file open, as many network file systems."""
    monkeypatch.setattr(exchanges, "_is_open_for_writing", lambda _folder, _name: False)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal"


def tree(root: Path) -> dict[str, bytes]:
    """Every file of the root, our own temporary names included; empty folders count too."""
    found = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    empty = (p for p in root.rglob("*") if p.is_dir() and not any(p.iterdir()))
    return found | {f"{p.relative_to(root)}/": b"" for p in empty}


def user_acts(file: Path, act: str, outside: Path) -> None:
    """What a user may do to a file while we are at work."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if act == "edit":
        file.write_bytes(b"the user's\n")
        return
    file.unlink(missing_ok=True)
    if act == "link":
        file.symlink_to(outside)
    elif act == "folder":
        (file / "inner").mkdir(parents=True)
    elif act == "pipe":
        os.mkfifo(file)


def nothing() -> None:
    """A record of a review that costs nothing."""


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/post-commit",
        "sub/.GIT/config",
        ".g\u200cit/config",
        ".git. ./config",
        "git~1/config",
        ".agentfs/runs/r.jsonl",
        ".hg/hgrc",
    ],
)
def test_version_control_and_recordings_are_no_change_set_s(root: Path, path: str) -> None:
    """As in a stranger's run, or where tests wrote it without isolation."""
    prepared = prepare_changes(root, [patch(path, None, b"#!/bin/sh\n", 0o755)])
    assert prepared.writes == ()
    assert "version control" in prepared.conflicts[0].detail


@pytest.mark.parametrize("base", [None, b"model: {}\n"])
@pytest.mark.parametrize(
    "path",
    ["remora.yaml", "Remora.yaml", ".remora/agents/own/agent.yaml", ".remora\u200b/hub/x.pym"],
)
def test_settings_and_agents_are_no_change_set_s(root: Path, path: str, base: bytes | None) -> None:
    """Or a stranger's run, accepted with --trust-run, would grant itself what comes next."""
    if base is not None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(base)
    prepared = prepare_changes(root, [patch(path, base, b"python: /tmp/evil\n")])
    assert prepared.writes == ()
    assert "Remora's settings" in prepared.conflicts[0].detail


class TestPrepare:
    def test_an_untouched_file_takes_the_change_and_keeps_its_bits(self, root: Path) -> None:
        prepared = prepare_changes(root, PATCHES)
        assert prepared.conflicts == ()
        assert {write.path: write.result for write in prepared.writes} == {**NEW, "gone.py": None}
        assert not any(write.merged for write in prepared.writes)
        assert [write.mode for write in prepared.writes if write.path == "a.py"] == [0o640]
        assert tree(root) == OLD, "nothing is written"
        change = FilePatch(path="a.py", base=OLD["a.py"], theirs=b"x", mode=0o755)
        assert prepare_changes(root, [change]).writes[0].mode == 0o640
        bad = ["../x", "/etc/passwd", "pkg/../../x"]
        prepared = prepare_changes(root, [patch(path, None, b"x") for path in bad])
        assert (prepared.writes, len(prepared.conflicts)) == ((), 3)

    def test_a_file_that_moved_on_is_merged(self, root: Path) -> None:
        (root / "pkg/b.py").write_bytes(b"b = 1\r\nc = 9\r\n")
        (write,) = prepare_changes(root, [p for p in PATCHES if p.path == "pkg/b.py"]).writes
        assert (write.result, write.merged) == (b"b = 2\r\nc = 9\r\n", True)

    def test_an_identical_file_is_not_written(self, root: Path) -> None:
        (root / "a.py").write_bytes(NEW["a.py"])
        (root / "pkg/b.py").write_bytes(b"b = 2\r\nc = 7\r\n")
        (root / "gone.py").unlink()
        assert [write.path for write in prepare_changes(root, PATCHES).writes] == ["new/deep/n.py"]

    @pytest.mark.parametrize(
        ("path", "act", "detail"),
        [
            ("a.py", "edit", "was edited at the same lines after the run started"),
            ("a.py", "delete", "was deleted"),
            ("gone.py", "edit", "was edited, but the change deletes it"),
            ("new/deep/n.py", "edit", "already exists"),
            ("a.py", "link", "link or special"),
            ("a.py", "folder", "link or special"),
            ("gone.py", "pipe", "link or special"),
        ],
    )
    def test_conflicts(
        self, root: Path, path: str, act: str, detail: str, state: Path, tmp_path: Path
    ) -> None:
        user_acts(root / path, act, tmp_path / "outside")
        before = tree(root)
        prepared = prepare_changes(root, PATCHES)
        (conflict,) = prepared.conflicts
        assert conflict.path == path
        assert detail in conflict.detail
        with pytest.raises(Conflict, match=path):
            write_changes(prepared, state, record=nothing)
        assert tree(root) == before

    def test_a_linked_folder_is_a_conflict(self, root: Path, tmp_path: Path) -> None:
        (root / "pkg").rename(tmp_path / "outside")
        (root / "pkg").symlink_to(tmp_path / "outside")
        (conflict,) = prepare_changes(root, PATCHES).conflicts
        assert conflict.path == "pkg/b.py"

    @pytest.mark.parametrize(
        ("given", "written"),
        [
            (0o644, 0o644),
            (0o755, 0o755),
            (0o600, 0o644),
            (0o666, 0o644),
            (0o777, 0o755),
            (0o6755, 0o755),
            (0o1677, 0o644),
            (0o4644, 0o644),
            (0, 0o644),
        ],
    )
    def test_a_new_file_is_executable_or_not_and_nothing_else(
        self, root: Path, state: Path, given: int, written: int
    ) -> None:
        change = patch("new/x.sh", None, b"#!/bin/sh\n", given)
        assert write_changes(prepare_changes(root, [change]), state, record=nothing) == []
        assert st.S_IMODE((root / "new/x.sh").stat().st_mode) == written

    def test_a_deleted_file_comes_back_with_its_own_bits(self, root: Path, state: Path) -> None:
        (root / "gone.py").unlink()
        back = FilePatch(path="gone.py", base=None, theirs=b"x", mode=0o4640, restores=True)
        assert write_changes(prepare_changes(root, [back]), state, record=nothing) == []
        assert st.S_IMODE((root / "gone.py").stat().st_mode) == 0o640


class TestCommit:
    def test_all_is_written_after_the_review_is_recorded(self, root: Path, state: Path) -> None:
        seen: list[dict[str, bytes]] = []
        assert (
            write_changes(
                prepare_changes(root, PATCHES), state, record=lambda: seen.append(tree(root))
            )
            == []
        )
        assert seen == [OLD], "nothing was touched when the review was recorded"
        assert tree(root) == NEW
        assert (root / "a.py").stat().st_mode & 0o777 == 0o640
        assert (root / "new/deep/n.py").stat().st_mode & 0o777 == 0o644
        assert [path.name for path in state.iterdir()] == ["lock"]

    @pytest.mark.parametrize("path", sorted({*OLD, *NEW}))
    @pytest.mark.parametrize("act", ["edit", "delete", "link", "folder"])
    def test_an_edit_at_the_last_moment_undoes_all(
        self, root: Path, state: Path, path: str, act: str, tmp_path: Path
    ) -> None:
        """The user is faster: their change comes after the check, before the exchange."""
        if path not in OLD and act == "delete":
            return
        after: dict[str, bytes] = {}

        def race() -> None:
            user_acts(root / path, act, tmp_path / "outside")
            after.update(tree(root))

        told: list[Sequence[FileConflict]] = []
        conflicts = write_changes(
            prepare_changes(root, PATCHES), state, record=race, on_conflict=told.append
        )
        assert told == [conflicts]
        assert conflicts[0].path == path
        assert tree(root) == after
        assert (root / path).is_symlink() is (act == "link")
        assert not (tmp_path / "outside").exists()

    def test_an_editor_with_an_open_file_is_noticed(self, root: Path, state: Path) -> None:
        """It writes into the old file after the exchange; the text must not be lost."""
        with (root / "a.py").open("r+b") as editor:
            prepared = prepare_changes(root, PATCHES)
            editor.seek(0)

            def late() -> None:
                editor.write(b"typed\n")
                editor.flush()

            conflicts = write_changes(prepared, state, record=late)
        assert [conflict.path for conflict in conflicts] == ["a.py"]
        assert tree(root) == {**OLD, "a.py": b"typed\n"}

    def test_an_open_file_of_another_program_is_waited_for(self, root: Path, state: Path) -> None:
        """What they write when all is over must go into the user's file, not into nothing."""
        with (root / "a.py").open("r+b", buffering=0) as editor:
            conflicts = write_changes(prepare_changes(root, PATCHES), state, record=nothing)
            editor.write(b"typed\n")
        assert [(conflict.path, conflict.detail) for conflict in conflicts] == [
            ("a.py", "another program has it open for writing")
        ]
        assert tree(root) == {**OLD, "a.py": b"typed\n"}
        assert write_changes(prepare_changes(root, PATCHES[1:]), state, record=nothing) == []

    def test_nothing_is_left_after_readers_or_odd_names(self, root: Path, state: Path) -> None:
        with (root / "a.py").open("rb"):
            assert write_changes(prepare_changes(root, PATCHES), state, record=nothing) == []
        name = os.fsdecode(b"caf\xe9 %\n.py")
        assert (
            write_changes(prepare_changes(root, [patch(name, None, b"x")]), state, record=nothing)
            == []
        )
        assert (root / name).read_bytes() == b"x"

    @pytest.mark.usefixtures("untold")
    def test_an_editor_that_writes_after_the_exchange_is_noticed(
        self, root: Path, state: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first file is in place already, the last one is about to be."""
        rename = rename_noreplace
        prepared = prepare_changes(root, [*PATCHES, patch("z.py", None, b"z = 1\n")])
        with (root / "a.py").open("r+b", buffering=0) as editor:

            def late(folder: int, one: bytes, other: bytes) -> None:
                if other == b"z.py":
                    assert (root / "a.py").read_bytes() == NEW["a.py"]
                    editor.write(b"typed\n")
                rename(folder, one, other)

            monkeypatch.setattr(exchanges, "rename_noreplace", late)
            conflicts = write_changes(prepared, state, record=lambda: None)
        assert [conflict.path for conflict in conflicts] == ["a.py"]
        assert tree(root) == {**OLD, "a.py": b"typed\n"}

    def test_a_review_that_cannot_be_recorded_leaves_the_tree(
        self, root: Path, state: Path
    ) -> None:
        def fail() -> None:
            raise DiskError("the stream cannot be written")

        with pytest.raises(DiskError, match="the stream"):
            write_changes(prepare_changes(root, PATCHES), state, record=fail)
        assert tree(root) == OLD
        with pytest.raises(Conflict, match="interrupted"):
            write_changes(prepare_changes(root, PATCHES), state, record=nothing)
        assert recover_journal(state, root, recorded=lambda _: False).outcome == "undone"
        assert write_changes(prepare_changes(root, PATCHES), state, record=nothing) == []

    def test_two_commands_never_apply_at_once(self, root: Path, state: Path) -> None:
        def inner() -> None:
            with pytest.raises(Conflict, match="another command"):
                write_changes(prepare_changes(root, PATCHES), state, record=nothing)

        assert write_changes(prepare_changes(root, PATCHES), state, record=inner) == []

    def test_a_state_folder_that_cannot_be_written(self, root: Path, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(DiskError, match="cannot write a journal"):
            write_changes(prepare_changes(root, PATCHES), tmp_path / "file" / "x", record=nothing)
        assert tree(root) == OLD


class TestRecover:
    def test_a_journal_of_nothing_or_of_another_root_is_refused(
        self, root: Path, state: Path, tmp_path: Path
    ) -> None:
        assert recover_journal(state, root, recorded=lambda _: True).outcome == "none"
        stop(root, state, after_record=True)
        other = tmp_path / "other"
        plant(other)
        with pytest.raises(Conflict, match="does not belong to"):
            recover_journal(state, other, recorded=lambda _: True)
        assert tree(other) == OLD
        assert recover_journal(state, root, recorded=lambda _: True).outcome == "completed"
        assert tree(root) == NEW

    def test_a_note_shows_which_review_it_was(self, root: Path, state: Path) -> None:
        stop(root, state, after_record=True)
        notes: list[dict[str, str]] = []

        def recorded(journal: Journal) -> bool:
            notes.append(journal.note)
            return False

        recover_journal(state, root, recorded=recorded)
        assert notes == [{"change_set": "0123"}]

    def test_a_planted_journal_writes_nothing_outside(
        self, root: Path, state: Path, tmp_path: Path
    ) -> None:
        stop(root, state, after_record=True)
        file = state / "current" / "journal.json"
        file.write_bytes(file.read_bytes().replace(b'"new/deep/n.py"', b'"../outside.py"'))
        assert recover_journal(state, root, recorded=lambda _: True).outcome == "conflict"
        assert tree(root) == OLD
        assert not (tmp_path / "outside.py").exists()

    def test_a_damaged_journal_or_content_is_reported(self, root: Path, state: Path) -> None:
        stop(root, state, after_record=True)
        content = state / "current" / "0.new"
        content.write_bytes(b"flipped")
        result = recover_journal(state, root, recorded=lambda _: True)
        assert result.outcome == "conflict"
        assert tree(root) == OLD
        stop(root, state, after_record=True)
        (state / "current" / "journal.json").write_bytes(b"{")
        with pytest.raises(DiskError, match="damaged"):
            recover_journal(state, root, recorded=lambda _: True)

    def test_a_move_in_two_steps_cut_between_them_is_completed(
        self, root: Path, state: Path
    ) -> None:
        stop(root, state, after_record=True)
        os.link(root / "gone.py", waiting(root, state, "gone.py"))
        assert recover_journal(state, root, recorded=lambda _: True).outcome == "completed"
        assert tree(root) == NEW

    def test_a_move_in_two_steps_cut_between_them_is_undone(self, root: Path, state: Path) -> None:
        stop(root, state, after_record=True)
        (root / "new/deep").mkdir(parents=True)
        waiting(root, state, "new/deep/n.py").write_bytes(NEW["new/deep/n.py"])
        os.link(waiting(root, state, "new/deep/n.py"), root / "new/deep/n.py")
        assert recover_journal(state, root, recorded=lambda _: False).outcome == "undone"
        assert tree(root) == OLD

    def test_a_tidy_user_changes_nothing(self, root: Path, state: Path) -> None:
        """Someone removes our odd-looking file after a kill: the journal has the old text too."""
        stop(root, state, after_record=True)
        (root / "a.py").write_bytes(NEW["a.py"])
        assert recover_journal(state, root, recorded=lambda _: False).outcome == "undone"
        assert tree(root) == OLD

    def test_an_edit_between_kill_and_recovery_is_kept(self, root: Path, state: Path) -> None:
        stop(root, state, after_record=True)
        (root / "gone.py").write_bytes(b"edited\n")
        result = recover_journal(state, root, recorded=lambda _: True)
        assert (result.outcome, result.conflicts[0].path) == ("conflict", "gone.py")
        assert tree(root) == {**OLD, "gone.py": b"edited\n"}


def stop(root: Path, state: Path, *, after_record: bool) -> None:
    """Leave a journal as a process killed right after (or in) the record does."""
    with pytest.raises(RuntimeError):
        write_changes(
            prepare_changes(root, PATCHES), state, record=_die, note={"change_set": "0123"}
        )


def waiting(root: Path, state: Path, path: str) -> Path:
    """Where new and old text of a file wait, as the journal that was left has it."""
    journal = json.loads((state / "current" / "journal.json").read_bytes())
    (number,) = [entry["number"] for entry in journal["entries"] if entry["path"] == path]
    return (root / path).with_name(f".remora-{journal['id']}-{number}")


def _die() -> None:
    raise RuntimeError


def killed_at(count: int, act: Callable[[], object]) -> bool:
    """Run `act` in a child that kills itself at its n-th system call; False if it had no more."""
    child = os.fork()
    if child == 0:
        left = count

        def step(frame: FrameType, event: str, called: Any) -> None:
            nonlocal left
            owner = type(getattr(called, "__self__", None)).__module__
            if (
                owner == "_io"
                or getattr(called, "__module__", "") == "posix"
                or frame.f_globals["__name__"] == "remora.workspaces.file_syscalls"
            ):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.setprofile(step)
            act()
            sys.setprofile(None)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


class Attempt:
    """One change set on its way, with a stream that is a file: it is there once recorded."""

    def __init__(self, place: Path, race: Callable[[Path], None]) -> None:
        self.root = place / "root"
        self.state = place / "state"
        self.stream = place / "recorded"
        self.race = race
        plant(self.root)
        self.prepared = prepare_changes(self.root, PATCHES)

    def record(self) -> None:
        self.race(self.root)
        self.stream.write_bytes(b"")

    def commit(self) -> None:
        write_changes(self.prepared, self.state, record=self.record)

    def recover(self, told: Sequence[FileConflict] = ()) -> str:
        return recover_journal(
            self.state, self.root, recorded=lambda _: self.stream.exists() and not told
        ).outcome


def every_kill(
    tmp_path: Path, race: Callable[[Path], None], stride: int, after: dict[str, bytes]
) -> int:
    """Kill at every `stride`-th call, recover (killed once too), compare; the number of kills."""
    for kills in range(10_000):
        attempt = Attempt(tmp_path / str(kills), race)
        killed = killed_at(kills * stride, attempt.commit)
        # without a record only the user's own hand may have changed something
        if attempt.stream.exists():
            expected = after
        else:
            expected = {**OLD, "pkg/b.py": (attempt.root / "pkg/b.py").read_bytes()}
        if killed:
            killed_at(kills * 7 % 41, attempt.recover)
        attempt.recover()
        assert attempt.recover() == "none"
        assert tree(attempt.root) == expected, f"killed at call {kills * stride}"
        if not killed:
            return kills
        shutil.rmtree(tmp_path / str(kills))
    raise AssertionError("the child never came to its end")


def user_edits(root: Path) -> None:
    """The last file in order: all others have been exchanged when this is found."""
    (root / "pkg/b.py").write_bytes(b"edited\n")


EDITED = {**OLD, "pkg/b.py": b"edited\n"}


def test_killed_at_sampled_calls_all_or_nothing_is_written(tmp_path: Path) -> None:
    assert every_kill(tmp_path, lambda _: None, 83, NEW) > 5


NEED_ROOM = ("write", "writelines", "mkdir", "link")


@pytest.mark.parametrize("calls", [NEED_ROOM, ("open", "rename", "fsync")])
def test_a_disk_that_is_full_at_any_call_is_reported_and_nothing_is_half_written(
    calls: tuple[str, ...], tmp_path: Path
) -> None:
    codes = list[int]()
    for count in range(1000):
        attempt, left = Attempt(tmp_path / str(count), lambda _: None), count
        told: list[FileConflict] = []

        def step(_: FrameType, event: str, called: Any) -> None:
            nonlocal left
            if event == "c_call" and called.__name__ in calls:
                left -= 1
                if left < 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        sys.setprofile(step)
        try:
            write_changes(
                attempt.prepared, attempt.state, record=attempt.record, on_conflict=told.extend
            )
        except DiskError as error:
            codes.append(error.exit_code)
        except OSError:
            codes.append(-1)  # from the record, whose errors are passed on
        finally:
            sys.setprofile(None)
        assert len(codes) == count + 1 or left >= 0 or calls is not NEED_ROOM, told
        attempt.recover(told)
        written = attempt.stream.exists() and not told
        assert tree(attempt.root) == (NEW if written else OLD), f"at call {count}"
        if left >= 0:
            break
    assert 3 in codes
    assert len(codes) > 15


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that can neither swap names nor refuse to replace one."""

    def cannot(folder: int, one: bytes, other: bytes) -> None:
        raise OSError(errno.EINVAL, "cannot")

    monkeypatch.setattr(exchanges, "rename_exchange", cannot)
    monkeypatch.setattr(exchanges, "rename_noreplace", cannot)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("plain")
def test_on_a_plain_file_system_many_kills_change_nothing_either(tmp_path: Path) -> None:
    assert every_kill(tmp_path / "all", lambda _: None, 5, NEW) > 100
    assert every_kill(tmp_path / "conflict", user_edits, 5, EDITED) > 100


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_at_every_call_all_or_nothing_is_written(tmp_path: Path) -> None:
    assert every_kill(tmp_path, lambda _: None, 1, NEW) > 100


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_at_every_call_a_conflict_writes_nothing(tmp_path: Path) -> None:
    assert every_kill(tmp_path, user_edits, 1, EDITED) > 100


class TestExchange:
    @pytest.mark.parametrize("swap", [swap_names, swap_by_renames])
    def test_two_names_are_swapped(
        self, swap: Callable[[int, bytes, bytes], None], tmp_path: Path
    ) -> None:
        (tmp_path / "a").write_bytes(b"a")
        (tmp_path / "b").write_bytes(b"b")
        folder = os.open(tmp_path, os.O_RDONLY)
        swap(folder, b"a", b"b")
        os.close(folder)
        assert tree(tmp_path) == {"a": b"b", "b": b"a"}

    @pytest.mark.slow
    def test_a_swap_by_renames_killed_at_any_step_is_healed(self, tmp_path: Path) -> None:
        outcomes: set[bytes] = set()
        for count in range(100):
            place = tmp_path / str(count)
            place.mkdir()
            (place / "a").write_bytes(b"a")
            (place / "b").write_bytes(b"b")
            folder = os.open(place, os.O_RDONLY)
            killed = killed_at(count, partial(swap_by_renames, folder, b"a", b"b"))
            repair_swap(folder, b"a", b"b")
            os.close(folder)
            assert tree(place) in ({"a": b"a", "b": b"b"}, {"a": b"b", "b": b"a"})
            outcomes.add((place / "a").read_bytes())
            if not killed:
                break
        assert outcomes == {b"a", b"b"}
