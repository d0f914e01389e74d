"""Answers of every source include all changes that ended before the question."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from remora.code.file_analysis import read_facts
from remora.hub.query.queries import NodeQueries
from remora.hub.query.snapshots import MemorySnapshot
from tests.hub.client.conftest import House, ask

FOLDERS = ("", "p/", "p/q/", "r/")
MODULES = ("a", "b", "c")
NAMES = ("f", "g", "h")
OF_DATABASES = ("uid", "last_updated", "update_source", "extra")
LINKS = ("callers", "callees", "related_tests")


class Editor:
    """Somebody who edits in every way that there is; what was done last, `did` says."""

    def __init__(self, root: Path, random: Random) -> None:
        self.root = root
        self.random = random
        self.did = ""
        self._ways: tuple[Callable[[], None], ...] = (
            self._write, self._write, self._save, self._rewrite_unseen, self._rewrite_unseen,
            self._rename, self._remove, self._move_folder, self._remove_folder, self._restore,
        )  # fmt: skip

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*.py"))

    def edit(self) -> None:
        way = self.random.choice(self._ways)
        self.did = way.__name__
        way()

    def _somewhere(self) -> Path:
        place = self.root / f"{self.random.choice(FOLDERS)}{self.random.choice(MODULES)}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _source(self) -> str:
        names = self.random.sample(NAMES, 2)
        module = self.random.choice(MODULES)
        lines = [f"from {module} import {self.random.choice(NAMES)}", ""]
        for name in names:
            lines += [f"def {name}(x={self.random.randint(10, 99)}):"]
            lines += [f"    return {self.random.choice(NAMES)}(x)", ""]
        return "\n".join(lines)

    def _write(self) -> None:
        self._somewhere().write_text(self._source())

    def _save(self) -> None:
        place = self._somewhere()
        temporary = place.with_name(f".{place.name}.swp")
        temporary.write_text(self._source())
        temporary.replace(place)

    def _existing(self) -> Path | None:
        files = self.files()
        return self.root / self.random.choice(files) if files else None

    def _rewrite_unseen(self) -> None:
        """Other bytes, but the size and the mtime of before."""
        place = self._existing()
        if place is not None:
            before, text = place.stat(), place.read_text()
            old, new = self.random.sample(NAMES, 2)
            place.write_text(text.replace(f"{old}(x", f"{new}(x"))
            os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _restore(self) -> None:
        """A backup, with the time that it was made at."""
        place = self._somewhere()
        place.write_text(self._source())
        os.utime(place, ns=(10**18, 10**18))

    def _rename(self) -> None:
        place = self._existing()
        if place is not None:
            place.rename(self._somewhere())

    def _remove(self) -> None:
        place = self._existing()
        if place is not None:
            place.unlink()

    def _move_folder(self) -> None:
        old, new = self.random.sample(["p", "r", "s"], 2)
        if (self.root / old).is_dir() and not (self.root / new).exists():
            (self.root / old).rename(self.root / new)

    def _remove_folder(self) -> None:
        folder = self.root / self.random.choice(["p", "r", "p/q", "s"])
        if folder.is_dir() and self.random.random() < 0.3:
            shutil.rmtree(folder)


def truth(root: Path, keys: list[str]) -> dict[str, dict[str, Any]]:
    """What somebody says who reads everything anew."""
    files = (
        read_facts(str(path.relative_to(root)), path.read_bytes()) for path in root.rglob("*.py")
    )
    return plain(NodeQueries(MemorySnapshot({facts.path: facts for facts in files})).context(keys))


def plain(found: Any, *, without: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """Nodes as they compare."""
    return {
        key: {k: v for k, v in node.items() if k not in (*OF_DATABASES, *without)}
        for key, node in msgspec.to_builtins(dict(found)).items()
    }


def keys_of(random: Random, files: list[str]) -> Iterator[str]:
    """Nodes that are there, that were there, and that never were."""
    for _ in range(3):
        yield f"node:{random.choice(files or ['a.py'])}:{random.choice(NAMES)}"
    yield f"node:{random.choice(FOLDERS)}{random.choice(MODULES)}.py:{random.choice(NAMES)}"


def fuzz(house: House, rung: str, edits: int, seed: int) -> None:
    random = Random(seed)
    editor = Editor(house.root, random)
    client = house.raised_to(rung).client()
    without = LINKS if rung == "file" else ()
    for number in range(edits):
        editor.edit()
        keys = list(dict.fromkeys(keys_of(random, editor.files())))
        found = ask(client, keys)
        expected = truth(house.root, keys)
        if rung == "file":
            expected = {
                k: {n: v for n, v in node.items() if n not in LINKS} for k, node in expected.items()
            }
        assert plain(found, without=without) == expected, (number, editor.did, seed)
        assert found.source in (rung, None)
        assert all(node.fresh for node in found.values())


def test_a_few_edits(empty: House, rung: str) -> None:
    fuzz(empty, rung, 20, 1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_very_many_edits(empty: House, rung: str) -> None:
    fuzz(empty, rung, 3400, 2)
