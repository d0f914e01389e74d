"""The README's commands exist as written."""

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.forked_process import warm

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?ms)^```bash\n(.*?)^```")
# programs that are not ours and that a shell has or pip brings
FOREIGN = {"cd", "git", "source", "python3", "pip", "pipx", "uv"}


def commands(text: str) -> list[str]:
    lines = (line.strip() for block in BLOCK.findall(text) for line in block.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def make_targets() -> set[str]:
    return set(re.findall(r"(?m)^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8")))


README = commands((ROOT / "README.md").read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("command", [c for c in README if c.startswith("remora")])
def test_a_remora_command_is_understood(command: str, tmp_path: Path) -> None:
    # `--help` parses the line and stops before doing it: unknown commands and flags exit 2
    line = [*shlex.split(command, comments=True), "--help"]
    out, err = tmp_path / "out", tmp_path / "err"
    assert warm().run(line, cwd=ROOT, environ=os.environ, out=out, err=err) == 0, err.read_text()
