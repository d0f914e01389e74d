"""Possible answers about files under constant edit: each equals a state between question and answer."""

import re
import time
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

from remora.hub.node import AnsweredNode

TARGET = "node:hub.py:target"
_NOT_YET = 1 << 62
_VERSION = re.compile(r"def f\d+\(x=(\d+)\)")


class Written(NamedTuple):
    """A version of a file; `in_place`: while it was written, the file was not whole."""

    version: int
    began: int
    ended: int
    in_place: bool


class Timeline:
    """Writes files, and knows what was in each at any time."""

    def __init__(self, root: Path, files: int) -> None:
        self._root = root
        self._written: list[list[Written]] = [[] for _ in range(files)]
        (root / "m").mkdir(parents=True, exist_ok=True)
        (root / "hub.py").write_text("def target(x):\n    return x\n")
        for number in range(files):
            self.write(number, in_place=False)

    @property
    def files(self) -> int:
        return len(self._written)

    def key(self, number: int) -> str:
        return f"node:m/f{number}.py:f{number}"

    def write(self, number: int, *, in_place: bool) -> None:
        """The next version."""
        done = self._written[number]
        version = done[-1].version + 1 if done else number % 2
        called = "target" if version % 2 == 0 else "str"
        text = f"from hub import target\n\n\ndef f{number}(x={version}):\n    return {called}(x)\n"
        path = self._root / f"m/f{number}.py"
        # others read the list meanwhile
        done.append(Written(version, now(), _NOT_YET, in_place))
        if in_place:
            path.write_text(text)
        else:
            path.with_name(f".{path.name}~").write_text(text)
            path.with_name(f".{path.name}~").replace(path)
        done[-1] = done[-1]._replace(ended=now())

    def possible(self, number: int, asked: int, told: int) -> set[int | None]:
        """The versions that an answer may be about; None: the file is just being written."""
        written = self._written[number]
        last = bisect_right(written, asked, key=lambda one: one.ended) - 1
        those = [one for one in written[max(last, 0) :] if one.began <= told]
        found: set[int | None] = {one.version for one in those}
        if any(one.in_place and one.ended > asked for one in those):
            found.add(None)
        return found

    def stale(self, number: int, node: AnsweredNode | None, asked: int, told: int) -> str | None:
        """What is wrong with an answer about one file's function; None if nothing is."""
        version = None
        if node is not None:
            found = _VERSION.match(node.signature or "")
            assert found is not None
            version = int(found[1])
        possible = self.possible(number, asked, told)
        return None if version in possible else f"f{number}: {version}, not {possible}"


def now() -> int:
    """As the timeline counts."""
    return time.monotonic_ns()
