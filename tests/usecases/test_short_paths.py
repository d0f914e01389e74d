"""Few modules lie between a command and the first thing that it writes.

The path is the stack when `analyze` appends its first event, or when `accept` exchanges its first
file, from the command's function on. Counted are the modules of the functions on the path, of those
that they call, and of those that these call. What all parts use (`GROUND`) is not counted. Before the
steps of a run had one place, 50 and 28 modules were counted.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {"analyze": 30, "accept": 20}
GROUND = (
    *("chat", "code", "config", "errors", "facilities", "files", "ids", "json_schema", "memory"),
    *("python_text", "regular_file", "rmtree", "sandbox", "statuses", "text", "threads", "version"),
)
PROGRAM = """
import json, sys, threading
from remora.cli.main import main

command, module, function, *words = sys.argv[1:]
calls = set()  # functions with those that called them, and those that called these

def name_of(frame):
    return frame and (frame.f_globals.get("__name__", ""), frame.f_code.co_qualname)

def own(frame):
    while frame is not None and not name_of(frame)[0].startswith("remora."):
        frame = frame.f_back
    return frame

def look(frame, event, _):
    if event != "call" or own(frame) is not frame or (caller := own(frame.f_back)) is None:
        return
    chain = name_of(frame), name_of(caller), name_of(own(caller.f_back))
    if not any(name and name[1] == "<module>" for name in chain):  # no call, but an import
        calls.add(chain)
    if name_of(frame) != (module, function):
        return
    sys.setprofile(None)
    threading.setprofile(None)
    path = []
    while frame is not None and name_of(frame)[0] != "remora.cli.app.options":
        path.append(name_of(frame))
        frame = own(frame.f_back)
    found = {chain[0][0] for chain in calls if not {*path}.isdisjoint(chain)}
    print(json.dumps(sorted(found)), file=sys.stderr, flush=True)
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
    return [name for name in found if name.split(".")[1] not in GROUND]


@pytest.mark.slow
def test_a_reader_follows_a_command_through_few_modules(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    shutil.copytree(ROOT / "examples" / "shop", root)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *words], cwd=root, check=True)
    line_file, file_swap = "remora.trace.stream.line_file", "remora.workspaces.apply.file_swap"
    first = modules(root, "analyze", line_file, "LineFile.append", "src")
    assert len(first) <= LIMITS["analyze"], first
    subprocess.run([sys.executable, "-m", "remora", "analyze", "src"], cwd=root, check=True)
    chosen = ("last", "--all", "--untested")
    written = modules(root, "accept", file_swap, "FileSwapper.put_in_place", *chosen)
    assert len(written) <= LIMITS["accept"], written
    status = subprocess.run(["git", "diff", "--quiet"], cwd=root, check=False)
    assert status.returncode == 0, "it was stopped before"
