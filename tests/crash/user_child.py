"""A user who never rests: saves, renames, deletes, reformats, links, all the time.

    python user_child.py ROOT SEED STOP save|switch NAME...

Ends when the file STOP is there; prints as JSON what they last made of each NAME: its text (in
Latin-1), null for none, or what a link leads to. With `switch` they only change between the
branches `main` and `other`, and nothing is printed but how often.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

BASE = 'def load():\n    """Read."""\n    import re\n\n    return 1\n\n\nLAST = {}\n'


class User:
    """Remembers what they did last to each file."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.random = root, Random(seed)
        self.last: dict[str, str | list[str] | None] = {}
        self.number = 0

    def text(self) -> str:
        """Like no other; as a rule the change still fits."""
        self.number += 1
        text = BASE.format(self.number)
        turns: list[Callable[[str], str]] = [
            lambda t: t.replace("\n", "\r\n"),
            lambda t: t.replace("    ", "\t"),
            lambda t: t.replace("import re", "import json"),
            lambda t: t.replace('"""Read."""', f'"""Read {self.number}."""'),
        ]
        if self.random.random() < 0.4:
            text = self.random.choice(turns)(text)
        return text

    def acts(self, name: str) -> None:
        file = self.root / name
        if file.is_dir():
            shutil.rmtree(file)
        how = self.random.choice(
            [self.over, self.over, self.in_place, self.slowly, self.delete, self.link, self.folder]
        )
        how(file, name)
        if self.random.random() < 0.1 and file.is_file():
            file.chmod(self.random.choice([0o600, 0o755]))

    def over(self, file: Path, name: str) -> None:
        text = self.text()
        fresh = file.with_name(f"{file.name}.swp")
        fresh.write_bytes(text.encode())
        fresh.rename(file)
        self.last[name] = text

    def in_place(self, file: Path, name: str) -> None:
        if file.is_symlink():
            file.unlink()
        text = self.text()
        file.write_bytes(text.encode())
        self.last[name] = text

    def slowly(self, file: Path, name: str) -> None:
        if file.is_symlink():
            file.unlink()
        text = self.text()
        with file.open("wb", buffering=0) as editor:
            for part in (text[:20], text[20:]):
                time.sleep(self.random.random() / 50)
                editor.write(part.encode())
        self.last[name] = text

    def delete(self, file: Path, name: str) -> None:
        file.unlink(missing_ok=True)
        self.last[name] = None

    def link(self, file: Path, name: str) -> None:
        file.unlink(missing_ok=True)
        file.symlink_to("/nowhere")
        self.last[name] = ["/nowhere"]

    def folder(self, file: Path, name: str) -> None:
        file.unlink(missing_ok=True)
        try:
            file.mkdir()
        except FileExistsError:
            self.last[name] = "a file came in between\n"  # it is looked at: never right
            return
        self.last[name] = []


def switching(root: Path, stop: Path) -> None:
    done = refused = 0
    while not stop.exists():
        for branch in ("other", "main"):
            said = subprocess.run(
                ["git", "switch", "-q", branch],
                cwd=root,
                capture_output=True,
                check=False,
                text=True,
            )
            done += said.returncode == 0
            refused += said.returncode != 0
            if said.returncode and "would be overwritten" not in said.stderr:
                sys.exit(f"git: {said.stderr}")
    sys.stdout.write(json.dumps([done, refused]))


def main(root: str, seed: str, stop: str, what: str, *names: str) -> None:
    if what == "switch":
        switching(Path(root), Path(stop))
        return
    user = User(Path(root), int(seed))
    while not Path(stop).exists() or user.last.keys() != set(names):
        user.acts(user.random.choice(names))
        if user.random.random() < 0.3:
            time.sleep(user.random.random() / 20)
    sys.stdout.write(json.dumps(user.last))


if __name__ == "__main__":
    os.umask(0o022)
    main(*sys.argv[1:])
