"""Members: the Python files of a project as `project_files` lists them, found in milliseconds."""

import stat as st
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from remora.errors import OutsideError
from remora.hub.file_rules import FILE_LIMIT
from remora.hub.members.folder_listing import look
from remora.hub.members.ignore_cache import IgnoreCache, RulesChanged
from remora.hub.members.member_walk import Before, Walker, WalkResult
from remora.hub.stamp import Stamp

_T = TypeVar("_T")
_TRIES = 50


class Members:
    """Which Python files belong to the project at `root`.

    They are those of `files.project_files(root, exclude=exclude)` but for the few that git tracks
    in a virtual environment or in `node_modules`: these are nobody's own code. Every look compares
    what it rests on (ignore files, git's index and configuration) with what that was before, and
    asks git only about what is new. Several threads may ask. Every question raises OutsideError if
    ignore files do not stand still long enough to be asked about.
    """

    def __init__(
        self, root: Path, exclude: Sequence[str] = (), *, file_limit: int = FILE_LIMIT
    ) -> None:
        self.file_limit = file_limit
        """Bytes of a file above which it is listed and not read."""
        self._top = str(root)
        self._verdicts = IgnoreCache(root, exclude)
        self._surveyor = Walker(str(root), self._verdicts)
        self._restless: dict[str, int] = {}
        self._surveyed = False
        self._lock = threading.RLock()
        self.version = 0
        """Grows whenever other folders may have to be watched than before."""

    def sweep(self) -> dict[str, Stamp]:
        """Every file that belongs, as it is now; links are not followed."""
        return self.survey().files

    def folders(self) -> frozenset[str]:
        """Every folder that is to be watched: those not ignored, and those with tracked files."""
        return frozenset(self.survey().folders)

    def survey(self, starts: Iterable[str] = ("",), before: Before | None = None) -> WalkResult:
        """What is in the whole tree, or in the folders `starts` as far as they belong.

        `before` is called with each folder before it is listed: what it watches from then on and
        what the survey finds leave no gap. Some of these turn out not to count.
        """
        wanted = sorted(set(starts))
        with self._lock:
            return self._while_rules_hold(lambda: self._survey(wanted, before))

    def belonging(self, paths: Iterable[str]) -> set[str]:
        """Those of `paths` that are files that belong, asked of the disk as it is now."""
        wanted = [path for path in paths if path.endswith(".py")]
        with self._lock:
            return self._while_rules_hold(lambda: self._surveyor.belonging(wanted))

    def moved(self) -> bool:
        """Whether what could belong was changed by something that no watched folder tells: git's
        index or configuration, an environment or a repository that is none any more."""
        with self._lock:
            version = self.version
            self._while_rules_hold(lambda: None)
            if self._verdicts.doors_moved():
                self.version += 1
            return self.version != version

    def restless(self) -> frozenset[str]:
        """Files that belong and can change without their folders' telling: those with names
        elsewhere, and those in folders that cannot be read. As of the last look at them."""
        with self._lock:
            return frozenset(self._restless)

    def has_other_names(self, path: str) -> bool:
        """Whether a file has further names, of which some may not be known yet."""
        about = look(self._top, path)
        if about is None or not st.S_ISREG(about.st_mode) or about.st_nlink == 1:
            return False
        return self._restless.get(path) != about.st_ino

    def forget(self) -> None:
        """Ignore rules changed: everything is asked anew."""
        with self._lock:
            self._verdicts.forget()
            self._surveyed = False
            self.version += 1

    def _while_rules_hold(self, ask: Callable[[], _T]) -> _T:
        """An answer that rests on one state of the rules."""
        for _ in range(_TRIES):
            try:
                if self._verdicts.moved():
                    self.forget()
                if self._verdicts.indexed():
                    self.version += 1
                if not self._surveyed:
                    self._whole(None)
                return ask()
            except RulesChanged:
                self.forget()
        raise OutsideError(
            f"the ignore files below {self._top} change faster than they can be read",
            hint="retry when they no longer change",
        )

    def _survey(self, starts: list[str], before: Before | None) -> WalkResult:
        if starts == [""]:
            return self._whole(before)
        found = self._surveyor.within(starts, before)
        self._restless.update(found.restless)
        return found

    def _whole(self, before: Before | None) -> WalkResult:
        self._verdicts.trim()
        doors, self._verdicts.doors = self._verdicts.doors, {}
        found = self._surveyor.within([""], before)
        if self._verdicts.ignore_file_vanished(found.listed):
            raise RulesChanged
        if self._surveyed and doors != self._verdicts.doors:
            self.version += 1
        self._surveyed = True
        self._verdicts.settle()
        self._restless = found.restless
        return found
