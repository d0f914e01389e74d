"""Everything that people, editors and git do to a project whose calls can be told from its text."""

import ctypes
import os
import random
import shutil
from pathlib import Path

from tests.hub.watch.edits import NAMES, Edits, git

_SIZE = 200
_AT_FDCWD = -100
_EXCHANGE = 2
_libc = ctypes.CDLL(None)


def source(count: int, module: str, *, calls: bool = True) -> str:
    """A module of a fixed size whose `t` calls that of `module`."""
    what = "u(x)" if calls else "x(u)"
    text = (
        f"from {module} import t as u\n\n\n"
        f"def t(x={count:06}):\n    return {what}\n\n\n"
        f"def s(x={count:06}):\n    return t(x)\n#"
    )
    return f"{text[:_SIZE]:.<{_SIZE}}\n"


def plant(folder: Path, *, with_git: bool) -> tuple[Path, Path]:
    """A project of one file, and a folder beside it."""
    root, outside = folder / "project", folder / "outside"
    (root / "a").mkdir(parents=True)
    outside.mkdir()
    (root / "a/a.py").write_text("x = 0\n")
    if with_git:
        git(root, "init", "-q", "-b", "main", ".")
        git(root, "add", ".")
        git(root, "commit", "-qm", "one")
    return root, outside


class Torture(Edits):
    """The watchers' edits, those of whole trees in one go, and more of what git does."""

    def __init__(self, root: Path, outside: Path, chance: random.Random, *, with_git: bool) -> None:
        super().__init__(root, outside, chance, with_git=with_git)
        self.choices += [self.restore_backup, self.break_it, self.python_named_folder] * 2
        self.choices += [self.burst, self.swap_files, self.swap_folders, self.replace_folder] * 2
        self.choices += [self.replace_tree, self.there_and_back, self.append, self.comment]
        if with_git:
            self.choices += [self.stash, self.pop, self.reset, self.clean, self.lock_index]
            self.choices += [self.switch, self.commit, self.move_with_git, self.ignore_everywhere]

    def _text(self) -> str:
        return source(self.count, self._module(), calls=self.chance.random() < 0.8)

    def _module(self) -> str:
        parts = self._any_file().relative_to(self.root).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        dotted = ".".join(parts)
        usable = parts and all(part.isidentifier() and part.isascii() for part in parts)
        return dotted if usable and len(dotted) < 40 else "a.b"

    def _any_file(self) -> Path:
        files = [path for path in self._folder().iterdir() if path.name.endswith(".py")]
        return self.chance.choice(sorted(files)) if files else self.root / "a.py"

    def restore_backup(self) -> None:
        path = self._file()
        path.write_text(self._text())
        os.utime(path, (10**9, 10**9))

    def break_it(self) -> None:
        self._file().write_text(self._text().replace(":\n", "\n", 1))

    def append(self) -> None:
        with self._file().open("a") as file:
            file.write("\n\ndef v():\n    return s(1)\n")

    def comment(self) -> None:
        """Nothing but the file's own hash changes."""
        with self._file().open("a") as file:
            file.write(f"# {self.count}\n")

    def python_named_folder(self) -> None:
        folder = self._new_file()
        folder.mkdir()
        (folder / "a.py").write_text(self._text())

    def burst(self) -> None:
        """A tree that is there, moved and filled before anybody could look."""
        folder = self._folder() / self.chance.choice(NAMES)
        for depth in "abc":
            folder.mkdir(exist_ok=True)
            (folder / f"{depth}.py").write_text(self._text())
            moved = folder.with_name(self.chance.choice(NAMES))
            folder = folder.rename(moved) / depth

    def swap_files(self) -> None:
        self._swap(self._file(), self._file())

    def swap_folders(self) -> None:
        self._swap(self._folder(), self._folder())

    def _swap(self, one: Path, other: Path) -> None:
        """Both at once, as `renameat2` does it."""
        if self.root not in (one, other):
            _libc.renameat2(
                _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), ctypes.c_uint(_EXCHANGE)
            )

    def replace_folder(self) -> None:
        """A folder in the place of another one that has just been emptied."""
        one, other = self._folder(), self._folder()
        if self.root in (one, other) or one == other or one in other.parents:
            return
        if other in one.parents:
            return
        shutil.rmtree(other)
        other.mkdir()
        one.rename(other)

    def replace_tree(self) -> None:
        """As a formatter or a generator does it: another tree, put in the place of the old one."""
        folder = self._folder()
        if folder == self.root:
            return
        fresh = self.outside / f"fresh{self.count}"
        shutil.copytree(folder, fresh, symlinks=True)
        for path in fresh.rglob("*.py"):
            if path.is_file() and not path.is_symlink():
                path.write_text(self._text())
        folder.rename(self.outside / f"old{self.count}")
        fresh.rename(folder)

    def there_and_back(self) -> None:
        path = self._file()
        away = self.outside / "away.py"
        path.rename(away)
        away.write_text(self._text())
        away.rename(path)

    def stash(self) -> None:
        git(self.root, "stash", "-q", *self.chance.choice([[], ["-u"], ["-a"]]))

    def pop(self) -> None:
        git(self.root, "stash", "pop", "-q")

    def reset(self) -> None:
        git(self.root, "reset", "-q", "--hard", self.chance.choice(["one", "two", "HEAD"]))

    def clean(self) -> None:
        git(self.root, "clean", "-fdq")

    def move_with_git(self) -> None:
        git(self.root, "mv", str(self._file()), str(self._new_file()))

    def lock_index(self) -> None:
        """A git command that is under way, or that died; then one that ends."""
        lock = self.root / ".git/index.lock"
        lock.unlink() if lock.exists() else lock.write_bytes(b"")

    def ignore_everywhere(self) -> None:
        """By a file outside of the project that its own configuration names."""
        everywhere = self.outside.parent / "ignored-everywhere"
        everywhere.write_text(self.chance.choice(["", "c.py\n", "d/\n"]))
        git(self.root, "config", "core.excludesFile", str(everywhere))
