"""A user edits before or after each system call of an accept: the last edit is kept, merged or reported."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from remora.workspaces.apply.merge_change_set import FileConflict, FilePatch, prepare_changes
from remora.workspaces.apply.transaction import write_changes

BASE = b"a = 1\n\n\nb = 1\n"
THEIRS = b"a = 2\n\n\nb = 1\n"
TYPED = b"a = 1\n\n\nb = 'typed'\n"
MERGED = b"a = 2\n\n\nb = 'typed'\n"
AGAIN = TYPED.replace(b"typed", b"typed once more")
SPOILED = b"a = 'spoiled'\n"
PATCHES = [
    FilePatch(path="gone.py", base=BASE, theirs=None, mode=0o644),
    FilePatch(path="new.py", base=None, theirs=THEIRS, mode=0o644),
    FilePatch(path="pkg/a.py", base=BASE, theirs=THEIRS, mode=0o644),
    FilePatch(path="z.py", base=BASE, theirs=THEIRS, mode=0o644),
]
NEVER = 10**9
Act = Callable[[Path], Iterator[None]]
"""What the user does to a file; between its parts, time goes by."""


def writes_in_place(file: Path) -> Iterator[None]:
    file.write_bytes(TYPED)
    yield


def opens_and_writes_later(file: Path) -> Iterator[None]:
    with file.open("r+b", buffering=0) as editor:
        yield
        editor.write(TYPED)
        editor.truncate()


def empties_and_writes_later(file: Path) -> Iterator[None]:
    with file.open("wb", buffering=0) as editor:
        yield
        editor.write(TYPED)


def writes_one_half_after_the_other(file: Path) -> Iterator[None]:
    with file.open("wb", buffering=0) as editor:
        editor.write(TYPED[:9])
        yield
        editor.write(TYPED[9:])


def renames_over(file: Path) -> Iterator[None]:
    over(file, TYPED)
    yield


def renames_over_twice(file: Path) -> Iterator[None]:
    over(file, AGAIN)
    yield
    over(file, TYPED)


def over(file: Path, text: bytes) -> None:
    fresh = file.with_name("fresh")
    fresh.write_bytes(text)
    fresh.rename(file)


def deletes(file: Path) -> Iterator[None]:
    file.unlink()
    yield


def renames(file: Path) -> Iterator[None]:
    file.rename(file.with_name("moved.py"))
    yield


def links(file: Path) -> Iterator[None]:
    file.unlink()
    file.symlink_to("/nowhere")
    yield


def makes_a_folder(file: Path) -> Iterator[None]:
    file.unlink()
    file.mkdir()
    (file / "inner").write_bytes(TYPED)
    yield


def chmods(file: Path) -> Iterator[None]:
    file.chmod(0o750)
    yield


def moves_the_folder(file: Path) -> Iterator[None]:
    file.parent.rename(file.parent.with_name("away"))
    yield


SAVES: list[Act] = [
    writes_in_place,
    opens_and_writes_later,
    empties_and_writes_later,
    writes_one_half_after_the_other,
    renames_over,
    renames_over_twice,
]


class Moments:
    """Goes on with what the user does at chosen ones of the system calls that a function makes."""

    def __init__(self, acting: Callable[[], Iterator[None]], at: tuple[int, ...]) -> None:
        self._acting, self._at = acting, at
        self._acts: Iterator[None] | None = None
        self.calls = 0
        self.came_too_late = False

    def during(self, act: Callable[[], list[FileConflict]]) -> list[FileConflict]:
        sys.setprofile(self._step)
        try:
            return act()
        finally:
            sys.setprofile(None)
            self._go_on_to_the_end()

    def _step(self, frame: FrameType, event: str, called: Any) -> None:
        owner = type(getattr(called, "__self__", None)).__module__
        place = getattr(called, "__module__", "")
        syscalls = frame.f_globals["__name__"] == "remora.workspaces.file_syscalls"
        if owner == "_io" or place in ("posix", "fcntl") or syscalls:
            if self.calls in self._at:
                self._go_on()
            self.calls += 1

    def _go_on(self) -> None:
        if self._acts is None:
            self._acts = self._acting()
        try:
            next(self._acts, None)
        except FileNotFoundError:  # it was deleted before they came
            self.came_too_late = True

    def _go_on_to_the_end(self) -> None:
        if self._acts is not None:
            for _ in self._acts:
                pass


class World:
    """A tree in which a change set is to be written, and a user."""

    def __init__(self, place: Path, *, spoiled: bool) -> None:
        self.root, self.state = place / "root", place / "state"
        self.spoiled = spoiled
        for patch in PATCHES:
            file = self.root / patch.path
            file.parent.mkdir(parents=True, exist_ok=True)
            if patch.base is not None:
                file.write_bytes(patch.base)
        self.conflicts: list[FileConflict] = []
        self.acted = True
        self.is_spoiled = False

    def accepts(self) -> list[FileConflict]:
        prepared = prepare_changes(self.root, PATCHES)
        if prepared.conflicts:
            return [*prepared.conflicts]
        return write_changes(prepared, self.state, record=self._record)

    def _record(self) -> None:
        if self.spoiled:  # the last file in order: all others are taken back
            self.is_spoiled = True
            (self.root / "z.py").write_bytes(SPOILED)

    def lives_through(self, act: Act, path: str, at: tuple[int, ...]) -> int:
        """How many moments there were."""
        moments = Moments(lambda: act(self.root / path), at)
        self.conflicts = moments.during(self.accepts)
        self.acted = not moments.came_too_late
        return moments.calls

    @property
    def told(self) -> str:
        return " ".join(f"{conflict.path}: {conflict.detail}" for conflict in self.conflicts)

    def wrong(self, act: Act, path: str) -> list[str]:
        """What became of the user's work that must not."""
        found = self._of_the_target(act, self.root / path) if self.acted else []
        left = [file for file in self.root.rglob("*.remora-*") if file.name not in self.told]
        found += [f"{file} was left untold" for file in left]
        for patch in PATCHES:
            if patch.path == path:
                continue
            file = self.root / patch.path
            now = file.read_bytes() if file.exists() else None
            wanted = patch.base if self.conflicts else patch.theirs
            if patch.path == "z.py" and self.is_spoiled:
                wanted = SPOILED
            if now != wanted:
                found.append(f"{patch.path} holds {now!r}")
        return found

    def _of_the_target(self, act: Act, file: Path) -> list[str]:
        if act in SAVES:
            there = file.read_bytes() if file.is_file() else None
            if there == TYPED or (there == MERGED and not self.conflicts):
                return []
            return [f"what was typed is not there but {there!r}"]
        return [] if self._stands(act, file) else [f"what {act.__name__} made is not there"]

    def _stands(self, act: Act, file: Path) -> bool:
        if act is links:
            return file.is_symlink()
        if act is makes_a_folder:
            return (file / "inner").read_bytes() == TYPED
        if act is chmods:
            return file.stat().st_mode & 0o777 == 0o750
        if act is moves_the_folder:
            texts = [p.read_bytes() for p in (self.root / "away").iterdir()]
            return not file.parent.exists() and texts == [BASE if self.conflicts else THEIRS]
        return not os.path.lexists(file)


def moments(
    tmp_path: Path, act: Act, path: str, stride: int, *, spoiled: bool, later: tuple[int, ...]
) -> list[str]:
    """What went wrong, by the moments at which the user acted."""
    found: list[str] = []
    for first in count(stride // 2, stride):
        for wait in later:
            place = tmp_path / f"{first}-{wait}"
            world = World(place, spoiled=spoiled)
            calls = world.lives_through(act, path, (first, first + wait))
            if first >= calls:
                return found
            found += [
                f"at {first}, {first + wait}: {w}; {world.told}" for w in world.wrong(act, path)
            ]
            shutil.rmtree(place)
    raise AssertionError("it never came to its end")


AT_ONE: list[tuple[Act, str]] = [
    *((act, path) for act in SAVES[:1] + SAVES[4:5] for path in ("pkg/a.py", "gone.py", "new.py")),
    *((act, path) for act in (deletes, links, makes_a_folder) for path in ("pkg/a.py", "gone.py")),
    (renames, "pkg/a.py"),
    (chmods, "pkg/a.py"),
    (moves_the_folder, "pkg/a.py"),
]
AT_TWO: list[tuple[Act, str]] = [
    (act, path) for act in SAVES[1:4] + SAVES[5:] for path in ("pkg/a.py", "gone.py")
]


@pytest.mark.parametrize("spoiled", [False, True], ids=["", "taken back"])
@pytest.mark.parametrize(("act", "path"), AT_ONE)
def test_at_one_moment(act: Act, path: str, spoiled: bool, tmp_path: Path) -> None:
    assert moments(tmp_path, act, path, 97, spoiled=spoiled, later=(NEVER,)) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("spoiled", [False, True], ids=["", "taken back"])
@pytest.mark.parametrize(("act", "path"), AT_ONE)
def test_at_every_moment(act: Act, path: str, spoiled: bool, tmp_path: Path) -> None:
    assert moments(tmp_path, act, path, 1, spoiled=spoiled, later=(NEVER,)) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("spoiled", [False, True], ids=["", "taken back"])
@pytest.mark.parametrize(("act", "path"), AT_TWO)
def test_at_any_two_moments(act: Act, path: str, spoiled: bool, tmp_path: Path) -> None:
    later = (1, 4, 13, 34, 89, 233, NEVER)
    assert moments(tmp_path, act, path, 3, spoiled=spoiled, later=later) == []
