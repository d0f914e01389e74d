"""The README's commands exist as written."""

import ast
import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forked_process import warm

ROOT = Path(__file__).resolve().parents[2]
ASKS = """
import json, sys
from remora.cli.app.entry import run

sys.exit(max(map(run, json.loads(sys.argv[1]))))
"""
HINT = re.compile(r"`(remora [^`]+)`")
BLOCK = re.compile(r"(?ms)^```bash\n(.*?)^```")
# programs that are not ours and that a shell has or pip brings
FOREIGN = {"cd", "git", "source", "python3", "pip", "pipx", "uv", "uvx"}


def commands(text: str) -> list[str]:
    lines = (line.strip() for block in BLOCK.findall(text) for line in block.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def make_targets() -> set[str]:
    return set(re.findall(r"(?m)^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8")))


TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
README = [*commands(TEXT), *re.findall(r"(?m)^\$ (remora .*)$", TEXT)]


def test_the_readme_has_make_demo_and_make_test() -> None:
    assert {"make demo", "make test"} <= set(README)


def test_the_makefile_has_the_promised_targets() -> None:
    promised = {"setup", "demo", "test", "check", "bench", "test-all", "clean", "help"}
    assert promised <= make_targets()


@pytest.mark.parametrize("command", [c for c in README if not c.startswith("remora")])
def test_a_command_is_a_make_target_or_a_known_program(command: str) -> None:
    program, *arguments = shlex.split(command, comments=True)
    if program == "make":
        assert {a for a in arguments if "=" not in a} <= make_targets()
    else:
        assert program in FOREIGN


def what_is_not_understood(commands: list[str], folder: Path) -> str:
    """What Remora says of commands that it does not understand."""
    # `--help` parses the line and stops before doing it: unknown commands and flags exit 2
    lines = [[*shlex.split(command, comments=True)[1:], "--help"] for command in commands]
    script, out, err = folder / "asks.py", folder / "out", folder / "err"
    script.write_text(ASKS)
    line = [str(script), json.dumps(lines)]
    code = warm().run(line, cwd=ROOT, environ=os.environ, out=out, err=err)
    assert out.read_text().count("Usage: ") == len(lines) or code
    return err.read_text()


def hints(file: Path) -> Iterator[str]:
    """The commands that a module prints, with `x` for what is only known when they are printed."""
    text = file.read_text(encoding="utf-8")
    if "`remora " not in text:
        return
    tree = ast.parse(text)
    told = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if hasattr(node, "body")
        and isinstance(node.body, list)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [
                part.value if isinstance(part, ast.Constant) else " x " for part in node.values
            ]
            yield from HINT.findall("".join(map(str, parts)))
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
        ):
            yield from HINT.findall(node.value)


def test_printed_commands_are_understood(tmp_path: Path) -> None:
    found = {hint for file in (ROOT / "src").rglob("*.py") for hint in hints(file)}
    known = sorted(hint for hint in found if not hint.startswith("remora  x "))
    assert len(known) > 50
    assert what_is_not_understood(known, tmp_path) == ""


def test_remora_commands_are_understood(tmp_path: Path) -> None:
    mine = [command for command in README if command.startswith("remora")]
    assert what_is_not_understood(mine, tmp_path) == ""
    assert "no command 'shw'" in what_is_not_understood(["remora shw"], tmp_path)
