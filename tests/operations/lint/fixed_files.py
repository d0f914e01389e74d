"""Diffs as tests write them, and files that the lint operation fixes with real ruff."""

import atexit
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

from remora.operations.lint.host_fix import fix_findings
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.tools.tree import ToolTree


@cache
def shared(settings: str) -> RuffBase:
    """Processes of ruff for all files that are alone in a folder with these settings."""
    folder = TemporaryDirectory()
    (Path(folder.name) / "ruff.toml").write_text(settings)
    base = RuffBase(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(base.close)
    return base


def fixed(folder: Path, source: str, *rules: str, unsafe: bool = False) -> str:
    """Fix the findings of some rules in a file, and return its new text."""
    chosen = ", ".join(f'"{rule}"' for rule in rules)
    settings = f"line-length = 60\nlint.select = [{chosen}]\n"
    ruff = Ruff if any(folder.iterdir()) else partial(Ruff, base=shared(settings))
    (folder / "ruff.toml").write_text(settings)
    (folder / "a.py").write_text(lines(source))
    fix_findings(ToolTree(folder, ruff=ruff), "a.py", [], unsafe)
    return (folder / "a.py").read_text()


def lines(text: str) -> str:
    return dedent(text).lstrip("\n")


def versions(diff: str) -> tuple[str, str]:
    """Return the texts before and after a change. Without `-` and `+`, nothing changes."""
    every = lines(diff).rstrip().split("\n")
    if not any(line[:1] in ("-", "+") for line in every):
        return lines(diff), lines(diff)
    before, after = ([line[2:] for line in every if line[:1] != mark] for mark in "+-")
    return "\n".join(before) + "\n", "\n".join(after) + "\n"
