"""Few modules lie between a command and the first thing that it writes.

Counted are the modules of the functions that are on the stack when `analyze` appends its first event,
or when `accept` exchanges its first file, from the command's function on, and of all functions that
these call: what somebody reads who follows the command.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {"analyze": 30, "accept": 20}
PROGRAM = """
import json, sys, threading
from remora.cli.main import main

command, module, function, *words = sys.argv[1:]
called = {}  # the modules of what a function calls, by its module and name

def name_of(frame):
    return frame.f_globals.get("__name__", ""), frame.f_code.co_qualname

def own(frame):
    while frame is not None and not name_of(frame)[0].startswith("remora."):
        frame = frame.f_back
    return frame

def look(frame, event, _):
    if event != "call" or own(frame) is not frame or (caller := own(frame.f_back)) is None:
        return
    called.setdefault(name_of(caller), set()).add(name_of(frame)[0])
    if name_of(frame) == (module, function):
        sys.setprofile(None)
        stack = []
        while frame is not None:
            stack.append(name_of(frame))
            frame = own(frame.f_back)
        last = max(n for n, (name, part) in enumerate(stack)
                   if name.startswith("remora.cli.") and part == command)
        stack = stack[: last + 1]
        found = {name for name, _ in stack}.union(*(called.get(part, ()) for part in stack))
        print(json.dumps(sorted(found)), file=sys.stderr, flush=True)
        threading.setprofile(None)
        raise SystemExit(7)

threading.setprofile(look)
sys.setprofile(look)
sys.argv[1:] = [command, *words]
main()
"""


def modules(root: Path, command: str, module: str, function: str, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, command, module, function, *words],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith('["remora.')]
    assert lines, done.stdout + done.stderr
    found: list[str] = json.loads(lines[0])
    return found


@pytest.mark.slow
def test_a_reader_follows_a_command_through_few_modules(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'shop'\nversion = '1'\n")
    (tmp_path / "shop.py").write_text("import os\n\nX = 1\n")
    line_file, file_swap = "remora.trace.stream.line_file", "remora.workspaces.apply.file_swap"
    first = modules(tmp_path, "analyze", line_file, "LineFile.append", "-o", "lint")
    assert len(first) <= LIMITS["analyze"], first
    subprocess.run(
        [sys.executable, "-m", "remora", "analyze", "-o", "lint"], cwd=tmp_path, check=True
    )
    written = modules(tmp_path, "accept", file_swap, "FileSwapper.put_in_place", "last", "--all")
    assert len(written) <= LIMITS["accept"], written
    assert "import os" in (tmp_path / "shop.py").read_text(), "it was stopped before"
