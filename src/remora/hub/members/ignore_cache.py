"""Ignore-decision cache, valid until the rules behind the decisions change."""

import stat as st
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from remora.errors import OutsideError
from remora.files.patterns import IgnoreRules
from remora.files.project_files import is_private
from remora.hub.members.exclusion_rules import Rules, open_rules
from remora.hub.members.folder_listing import MARKS, look, those_above
from remora.hub.members.outside_inputs import Witness

_MOST = 500_000
"""Paths: a hundred megabytes."""
_LARGEST = 100 << 20
"""Bytes of an ignore file: git's own limit, where it has one."""


class RulesChanged(Exception):
    """An ignore file is not what the verdicts rest on: all have to be asked again."""


class IgnoreCache:
    """Remembers what the rules said of each folder and file, and whether they still hold."""

    def __init__(self, root: Path, exclude: Sequence[str]) -> None:
        self._root = root
        self._top = str(root)
        self._excluded = IgnoreRules()
        self._excluded.add("", "\n".join(exclude))
        self._rules: Rules | None = None
        self._known: dict[str, bool] = {}  # a folder's key ends in a slash
        self._ignore_files: dict[str, Witness] = {}
        self._settled = False
        self.doors: dict[str, bool] = {}
        """Folders that nobody watches or lists from outside, and whether each is closed."""

    @property
    def rules(self) -> Rules:
        """Git's or the walk's, as it turns out when they are first needed."""
        if self._rules is None:
            self._rules = open_rules(self._root)
        return self._rules

    @property
    def tracked(self) -> Mapping[str, frozenset[str]]:
        """By folder, the files that git tracks."""
        return self.rules.tracked

    def moved(self) -> bool:
        """Whether something outside the tree makes it necessary to forget everything."""
        if not self.rules.moved():
            return False
        self._rules = None
        return True

    def indexed(self) -> bool:
        """Whether git tracks other paths than before, and that changes what belongs to where no
        event tells of it. Raises RulesMoved if git is gone."""
        try:
            index = self.rules.indexed()
        except OutsideError:
            self._rules = None
            raise RulesChanged from None
        if index is None:
            return False
        # one that was tracked was never asked about
        matters = index.submodules
        for path in index.added:
            matters = self._known.pop(path, False) or self._is_in_what_is_out(path) or matters
        for path in index.removed:
            self._known.pop(path, None)
            there = look(self._top, path) is not None
            matters = there or self._is_in_what_is_out(path) or matters
        return matters

    def _is_in_what_is_out(self, path: str) -> bool:
        above = those_above(path.rpartition("/")[0])
        return any(self._known.get(folder + "/", False) for folder in above)

    def forget(self) -> None:
        """No verdict holds any more."""
        self._known.clear()
        self._ignore_files.clear()
        self.doors.clear()
        self._settled = False
        if self._rules is not None:
            self._rules.forget()

    def trim(self) -> None:
        """Forget what may have come and gone, where it became too much to remember."""
        if len(self._known) > _MOST:
            self._known.clear()

    def settle(self) -> None:
        """Every ignore file was seen: from now on a new one is a change."""
        self._settled = True

    def note(self, folder: str, marks: Iterable[str]) -> None:
        """Compare the ignore file of a folder with the one seen before. Raises RulesMoved."""
        witness = self._ignore_files.get(folder)
        if ".gitignore" in marks:
            if witness is None and not self._settled:
                path = self._root / folder / ".gitignore"
                _check_ignore_file(path)
                self._ignore_files[folder] = Witness(path)
                self.rules.read(folder)
            elif witness is None or witness.moved():
                raise RulesChanged
        elif witness is not None:
            raise RulesChanged

    def ignore_file_vanished(self, listed: set[str]) -> bool:
        """Whether an ignore file was noted in a folder that is none of those `listed`."""
        return not self._ignore_files.keys() <= listed

    def closed(self, folder: str, marks: Iterable[str]) -> bool:
        """Whether a folder belongs to somebody else altogether: an environment, a repository."""
        verdict = self.rules.closed(folder, marks)
        if verdict is None:
            self.doors.pop(folder, None)
            return False
        self.doors[folder] = verdict
        return verdict

    def doors_moved(self) -> bool:
        """Whether a folder was closed or opened by something within it that nobody watches."""
        return any(
            bool(self.rules.closed(folder, MARKS)) != then for folder, then in self.doors.items()
        )

    def learn(self, folders: Iterable[str], files: Iterable[str]) -> None:
        """Ask about those of which nothing is known. Raises RulesMoved if git is gone."""
        new_folders = self._unnamed(folders, "/")
        new_files = self._unnamed(files, "")
        if not new_folders and not new_files:
            return
        try:
            ignored = self.rules.ignored(new_folders, new_files)
        except OutsideError:
            self.rest()
            self._rules = None
            raise RulesChanged from None
        # git looked itself at what is there: a verdict about what is gone may be about something else
        for path in new_folders:
            if _mode(self._top, path, st.S_IFDIR):
                self._known[path + "/"] = path in ignored
        for path in new_files:
            if _mode(self._top, path, st.S_IFREG):
                self._known[path] = path in ignored

    def rest(self) -> None:
        """A look is over: nothing is asked for a while."""
        if self._rules is not None:
            self._rules.rest()

    def _unnamed(self, paths: Iterable[str], end: str) -> list[str]:
        """Those not known and not left out by their names alone."""
        asked: list[str] = []
        for path in paths:
            key = path + end
            if key in self._known or not path:
                continue
            if is_private(path) or self._excluded.matches(path, folder=bool(end)):
                self._known[key] = True
            else:
                asked.append(path)
        return asked

    def folder_is_out(self, folder: str) -> bool:
        """Whether a folder is left out, as far as it was learnt."""
        return folder != "" and self._known.get(folder + "/", True)

    def file_is_out(self, path: str) -> bool:
        """Whether a file in a folder that is not left out is left out itself."""
        return self._known.get(path, True)

    def is_kept(self, path: str) -> bool:
        """Whether a file belongs since git tracks it, whatever is ignored."""
        tracked = self.tracked.get(path.rpartition("/")[0], ())
        return path in tracked and not self.is_barred(path)

    def is_barred(self, path: str) -> bool:
        """Whether nothing can make a path belong: it is private, or the user excluded it."""
        return is_private(path) or self._excluded.ignores(path)


def _check_ignore_file(path: Path) -> None:
    """Raises OutsideError for a pipe, a device, or far too much: git would read it for ever."""
    about = look(str(path.parent), path.name)
    if about is None or st.S_IFMT(about.st_mode) in {st.S_IFLNK, st.S_IFDIR}:
        return
    if not st.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
        raise OutsideError(
            f"{path} is not a regular file: git would never finish reading it", hint="remove it"
        )


def _mode(top: str, path: str, kind: int) -> bool:
    about = look(top, path)
    return about is not None and st.S_IFMT(about.st_mode) == kind
