"""A project after one run, with four pending changes unless a test has files of its own."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.cli.conftest import Remora, git, step_agent, user_without_weights, write

UNUSED = 'import os\n\n\ndef load():\n    """Read."""\n    import re\n\n    return 1\n'


class Four:
    """The user and the project, to begin from again and again in the same place."""

    def __init__(
        self, folder: Path, own: Mapping[str, str] | None = None, operation: str = "steps"
    ) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        settings = "[tool.ruff.lint]\nselect=['F']\n"
        files = {"a.py": UNUSED, "b.py": UNUSED, "pyproject.toml": settings, **step_agent()}
        write(self.root, files if own is None else own)
        git(self.root, "init", "-q")
        git(self.root, "config", "user.name", "Ann")
        git(self.root, "config", "user.email", "ann@localhost")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "start")
        self.remora: Remora = user_without_weights(folder / "home")
        self.analyzed = self.remora("analyze", "-o", operation, "--json", cwd=self.root)
        assert self.analyzed.code == 0
        self._kept = folder / "kept"
        for place in (self.root, self.remora.home):
            shutil.copytree(place, self._kept / place.name, symlinks=True)

    def again(self) -> None:
        """As it was after the run."""
        for place in (self.root, self.remora.home):
            shutil.rmtree(place)
            shutil.copytree(self._kept / place.name, place, symlinks=True)
