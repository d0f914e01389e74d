"""README.md, docs/tutorial.md: the commands run in order on a project and print what is shown."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.openai_server import answer, openai_server, send_json
from tests.platform_facilities import PASSED_ON

PAGE = Path(__file__).parents[2] / "docs/tutorial.md"
README = Path(__file__).parents[2] / "README.md"
MODEL = "Qwen2.5-Coder-1.5B-Instruct"
BLOCK = re.compile(r"^```(bash|console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS_NETWORK = ("uvx", "uv tool", "pipx install", "python3 -m venv", ".venv/bin/pip")


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


def run_steps(page: Path, root: Path, home: Path, model: str = MODEL) -> None:
    """Run the commands of a page in a folder, and compare what they print with what it shows."""
    home.mkdir()
    environ = {
        "HOME": str(home),
        **PASSED_ON,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "REMORA_MODEL__ASKS": "guided",
    }
    commands = steps(page.read_text(encoding="utf-8"))
    assert len(commands) > 5
    for shown, lines in commands:
        if "make demo" in shown:
            continue
        line = shown.replace(MODEL, model)
        if shown == "remora judge":  # a busy machine is slow
            line += " --seconds 600"
        done = subprocess.run(
            [shutil.which("bash") or "bash", "-euc", line],
            cwd=root,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if "git init" in shown:  # the page makes an environment with pip
            (root / ".venv").symlink_to(sys.prefix)
            (root / ".git/info/exclude").write_text(".venv\n")
        assert done.returncode == int(shown == "remora judge"), (shown, done.stdout, done.stderr)
        assert re.fullmatch(pattern(lines), done.stdout), (shown, done.stdout)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tutorial(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    run_steps(PAGE, tmp_path / "shop", tmp_path / "home")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_readme(tmp_path: Path) -> None:
    """The model's answer is the recorded one; all else is made again."""
    text = README.read_text(encoding="utf-8")
    assert len(text.split()) <= 700
    said = re.search(r"<- model:\n    (.*)\n", text)
    assert said
    row = re.search(r"(?m)^\| 3 \| 1.5B \|.*$", text)
    assert row
    assert row[0] in (README.parent / "docs/evals/small-models.md").read_text(encoding="utf-8")
    runpy.run_path(str(README.parent / "examples/demo.py"))["copy_shop"](tmp_path / "shop")
    (tmp_path / "shop/.venv").symlink_to(sys.prefix)
    (tmp_path / "shop/.git/info/exclude").write_text(".venv\n")
    with openai_server(lambda handler, *_: send_json(handler, answer(text=said[1]))) as server:
        server.tools, server.schemas = False, True
        run_steps(README, tmp_path / "shop", tmp_path / "home", server.address)
