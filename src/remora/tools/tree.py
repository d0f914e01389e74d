"""Access to the project tree for tools."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from remora.sandbox.interpreters import ProjectPython
from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.ruff import MakeRuff, Ruff

_T = TypeVar("_T")
Judge = Callable[[], Sequence[str]]
"""Returns what the checks at submission say against the changes in a tree."""


NO_JUDGE: Judge = tuple


class ToolTree(FileTree):
    """Project tree for a tool's calls.

    If `python` is None, no project code is run. `answers` is the folder for `KeptAnswers`. `ruff`
    checks, fixes and formats files of the tree. `judge` runs the checks of the job that changes it.
    """

    def __init__(
        self,
        tree: Path,
        python: ProjectPython | None = None,
        answers: Path | None = None,
        ruff: MakeRuff = Ruff,
        judge: Judge = NO_JUDGE,
    ) -> None:
        super().__init__(tree)
        self.python = python
        self.answers = answers
        self.judge = judge
        self.ruff = ruff(self)

    def once(self, compute: Callable[[FileTree], _T]) -> _T:
        """Return what a function computes from the tree, only once for all copies of a base."""
        return self.ruff.options.once(compute)

    def once_beside(self, compute: Callable[[FileTree, str], _T], path: str) -> _T:
        """Return what a function computes for the folder of a file, only once like `once`."""
        folder = path.rpartition("/")[0]
        return self.ruff.options.once(compute, f"{folder}/." if folder else ".")
