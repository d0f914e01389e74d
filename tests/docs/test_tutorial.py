"""docs/tutorial.md: its commands run in order on a real project and print what the page shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platform_facilities import PASSED_ON

PAGE = Path(__file__).parents[2] / "docs/tutorial.md"
BLOCK = re.compile(r"^```(bash|console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS_NETWORK = ("pipx install", "python3 -m venv", ".venv/bin/pip")


def steps(page: str) -> list[tuple[str, list[str]]]:
    """Return each command of the page with the lines that it should print."""
    found: list[tuple[str, list[str]]] = []
    for language, body in BLOCK.findall(page):
        if language == "bash":
            found.append((body, []))
        elif language == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, *lines = part.splitlines()
                found.append((command, lines))
        else:
            assert all(line.startswith(NEEDS_NETWORK) for line in body.splitlines())
    return found


def pattern(lines: list[str]) -> str:
    """Return a regular expression; `…` is any text, alone on a line any lines."""
    parts = [
        r"(?s:.*?)" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in lines
    ]
    return "".join(parts)


def test_the_pattern_of_an_output() -> None:
    shown = pattern(["a", "…", "b … c"])
    assert re.fullmatch(shown, "a\nx\ny\nb 12 c\n")
    assert not re.fullmatch(shown, "a\nx\nb 12 d\n")
    assert not re.fullmatch(shown, "x\na\nb 12 c\n")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tutorial(tmp_path: Path) -> None:
    root, home = tmp_path / "shop", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    environ = {
        "HOME": str(home),
        **PASSED_ON,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
    }
    commands = steps(PAGE.read_text(encoding="utf-8"))
    assert len(commands) > 10
    for command, lines in commands:
        if "-o test" in command:  # the page installs pytest with pip
            (root / ".venv").symlink_to(sys.prefix)
            (root / ".git/info/exclude").write_text(".venv\n")
        done = subprocess.run(
            [shutil.which("bash") or "bash", "-euc", command],
            cwd=root,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert re.fullmatch(pattern(lines), done.stdout), (command, done.stdout)
