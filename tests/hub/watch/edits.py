"""Random edits of a project, such as people, editors and git make."""

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

NAMES: list[str] = [
    *"abcde",
    "node_modules",
    "build",
    "gen",
    "ø",
    "p%20",
    "n\nl",
    os.fsdecode(b"b\xe9"),
]
IGNORED: list[str] = [
    "gen/\n",
    "*_x.py\n",
    "a/\n",
    "gen/\n!b_x.py\n",
    "/b\n",
    "*\n!*/\n!a.py\n",
    "",
    "build\n",
]


def git(root: Path, *words: str) -> None:
    """Git as the user has it; what fails was not possible."""
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, cwd=root, check=False, capture_output=True)


class Edits:
    """Edits of the project at `root`, chosen by `chance`; `outside` is a folder next to it."""

    def __init__(self, root: Path, outside: Path, chance: random.Random, *, with_git: bool) -> None:
        self.root, self.outside, self.chance = root, outside, chance
        self.count = 0
        common = [self.write] * 6 + [self.rewrite_alike] * 4 + [self.save_atomically] * 4
        usual = [self.rename, self.rename, self.remove, self.make_folder, self.copy_folder]
        rare = [self.remove_tree, self.move_out, self.move_in, self.link, self.hard_link]
        rare += [self.through_hard_link, self.ignore, self.environment, self.touch, self.exchange]
        self.choices: list[Callable[[], object]] = [*common, *usual, *usual, *rare]
        if with_git:
            self.choices += [self.track, self.commit, self.switch, self.nest, self.exclude]

    def make(self) -> str:
        """Make one edit; its name, for the report."""
        self.count += 1
        edit = self.chance.choice(self.choices)
        try:
            edit()
        except OSError:
            return f"{edit.__name__} (not possible)"
        return edit.__name__

    def _folder(self) -> Path:
        folders = [Path(place) for place, names, _ in os.walk(self.root) if _is_open(place, names)]
        return self.chance.choice(folders)

    def _file(self) -> Path:
        files = [path for path in self._folder().iterdir() if path.suffix == ".py"]
        if not files:
            return self._new_file()
        path: Path = self.chance.choice(files)
        return path

    def _new_file(self) -> Path:
        name = self.chance.choice(NAMES) + self.chance.choice(["", "_x"]) + ".py"
        path: Path = self._folder() / name
        return path

    def _text(self) -> str:
        return f"x = {self.count:06}\n"

    def write(self) -> None:
        self._new_file().write_text(self._text())

    def rewrite_alike(self) -> None:
        path = self._file()
        about = path.stat()
        path.write_text(self._text())
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))

    def save_atomically(self) -> None:
        path = self._file()
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(self._text())
        temporary.replace(path)

    def rename(self) -> None:
        one = self.chance.choice(list(self._folder().iterdir()) or [self.root / "none"])
        if one.name != ".git":
            one.rename(self._folder() / self.chance.choice([*NAMES, one.name]))

    def remove(self) -> None:
        self._file().unlink()

    def make_folder(self) -> None:
        folder = self._folder() / self.chance.choice(NAMES)
        if len(folder.relative_to(self.root).parts) < 6:
            folder.mkdir(exist_ok=True)
            (folder / self.chance.choice(["a.py", "__init__.py"])).write_text(self._text())

    def copy_folder(self) -> None:
        folder = self._folder()
        if folder != self.root and sum(len(names) for _, _, names in os.walk(folder)) < 20:
            copy = self.outside / f"copy{self.count}"
            shutil.copytree(folder, copy, symlinks=True)
            shutil.copytree(copy, self._folder() / self.chance.choice(NAMES), symlinks=True)

    def remove_tree(self) -> None:
        folder = self._folder()
        if folder != self.root:
            shutil.rmtree(folder)

    def move_out(self) -> None:
        folder = self._folder()
        if folder != self.root:
            folder.rename(self.outside / f"moved{self.count}")

    def move_in(self) -> None:
        there = sorted(self.outside.iterdir())
        if there:
            self.chance.choice(there).rename(self._folder() / self.chance.choice(NAMES))

    def link(self) -> None:
        target = self.chance.choice([self.outside, self.root, Path(), self._file()])
        self._new_file().symlink_to(target)
        (self._folder() / self.chance.choice(NAMES)).symlink_to(target)

    def hard_link(self) -> None:
        known = self.outside.parent / "known.py"
        if not known.exists():
            known.write_text(self._text())
        # a name that only an ignored folder has is told by nothing but a sweep: not here
        self._new_file().hardlink_to(known)

    def through_hard_link(self) -> None:
        with (self.outside.parent / "known.py").open("r+") as file:
            file.write(self._text())

    def ignore(self) -> None:
        path = self._folder() / ".gitignore"
        if self.chance.random() < 0.4:
            path.unlink()
        else:
            path.write_text(self.chance.choice(IGNORED))

    def environment(self) -> None:
        path = self._folder() / "pyvenv.cfg"
        if path.parent != self.root:
            path.unlink() if path.exists() else path.write_text("")

    def touch(self) -> None:
        path = self._file()
        os.utime(path, (1, 1))
        path.chmod(0o600)
        os.utime(self._folder())

    def exchange(self) -> None:
        one, other = self._folder(), self._file()
        if one != self.root and one.parent == other.parent:
            between = self.root / "between"
            one.rename(between)
            other.rename(one)
            between.rename(other)

    def track(self) -> None:
        git(self.root, "add", "-f", str(self._file()))

    def commit(self) -> None:
        git(self.root, "add", ".")
        git(self.root, "commit", "-qm", "c")
        git(self.root, "branch", "-f", self.chance.choice(["one", "two"]))

    def switch(self) -> None:
        git(self.root, "checkout", "-qf", self.chance.choice(["one", "two", "main"]))

    def nest(self) -> None:
        folder = self._folder()
        if folder == self.root:
            return
        if (folder / ".git").exists():
            shutil.rmtree(folder / ".git")
        elif self.chance.random() < 0.5:
            git(folder, "init", "-q", ".")
        else:
            (folder / ".git").mkdir()

    def exclude(self) -> None:
        (self.root / ".git/info/exclude").write_text(self.chance.choice(["", "b/\n", "c*.py\n"]))


def _is_open(place: str, names: list[str]) -> bool:
    if ".git" in names:
        names.remove(".git")
    return bool(place)
