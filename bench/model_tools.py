"""Seconds of a model's turns: of tools whose results a judge makes, and of the rest of a turn."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from instant_model import Handler

import remora
from remora.memory.events import ToolResulted, payload
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder

FILES = 8
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "lint": ("edit_lines", {"first": 4, "last": 4, "text": "    except ValueError:"}),
    "types": ("annotate", {"function": "NAME", "signature": "(value: int, limit: int = 3) -> int"}),
    "test": (
        "write_test",
        {"function": "NAME", "code": "def test_rest():\n    assert NAME(7) == 1\n"},
    ),
}
REACH = {"lint": 0.3, "types": 1.0, "test": 3.0}
TURN = 0.03
"""Most seconds of a turn without model and tool: packet, request, events and context scripts."""
READS = 3
_CODE = """\
def load_{0}(text):
    try:
        return int(text)
    except:
        return 0


def rest_{0}(value, limit=3):
    return value % limit
"""
_SETTINGS = '[project]\nname = "shop"\nrequires-python = ">=3.10"\n'


def main() -> dict[str, float]:
    """Return the median seconds of a tool's result by operation, and of the rest of a turn."""
    with TemporaryDirectory() as made, ThreadingHTTPServer(("127.0.0.1", 0), _Chat) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        os.environ |= {"HOME": made, "VIRTUAL_ENV": sys.prefix}
        root = _project(Path(made, "project"))
        address = f"http://127.0.0.1:{server.server_port}/v1"
        remora.analyze(
            root=root,
            operations=list(CALLS),
            model=address,
            decisions="model",
            opening=False,
            concurrency=1,
        )
        server.shutdown()
        used = _tool_results(TraceFolder(root))
    found = {}
    for operation, (tool, _) in CALLS.items():
        results = [each for each in used[operation] if each.tool == tool]
        found[operation] = median(each.duration_ms / 1000 for each in results)
        print(f"{tool:10} {found[operation]:.2f} s  (aim <= {REACH[operation]} s)")
    for operation, results in used.items():
        tools = sum(each.duration_ms / 1000 for each in results)
        seconds = (_Chat.between[operation] - tools) / len(results)
        print(f"turn of {operation}: {1000 * seconds:.0f} ms  (aim <= {1000 * TURN:.0f} ms)")
        found[f"turn of {operation}"] = seconds
    return found


class _Chat(Handler):
    turns: ClassVar[dict[str, int]] = {}
    """Requests of each job."""
    answered: ClassVar[float] = 0.0
    between: ClassVar[dict[str, float]] = dict.fromkeys(CALLS, 0.0)
    """Seconds between an answer and the job's next request, by operation."""

    @classmethod
    def choose(cls, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Make the operation's call once in each job, read code some times, and then submit."""
        come = time.perf_counter()
        text = body["messages"][-1]["content"]
        target = re.search(r"^Target: (\w+) .*?node:m(\d+)", text, re.MULTILINE)
        assert target is not None, text
        operation, number = target.groups()
        turn = cls.turns.get(target[0], 0)
        cls.turns[target[0]] = turn + 1
        if turn:
            cls.between[operation] += come - cls.answered
        call = _call(operation, number, turn)
        cls.answered = time.perf_counter()
        return call


def _call(operation: str, number: str, turn: int) -> tuple[str, dict[str, Any]]:
    tool, args = CALLS[operation]
    if turn == 0:
        text = json.dumps(args).replace("NAME", f"rest_{number}")
        return tool, json.loads(text)
    if turn <= READS and operation != "test":
        return "read_code", {"first": 1, "last": turn}
    return "submit_result", {}


def _project(root: Path) -> Path:
    root.mkdir()
    (root / "pyproject.toml").write_text(_SETTINGS)
    for number in range(FILES):
        (root / f"m{number}.py").write_text(_CODE.format(number))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def _tool_results(folder: TraceFolder) -> dict[str, list[ToolResulted]]:
    """Return the results of all calls but the submissions, by operation."""
    found: dict[str, list[ToolResulted]] = {operation: [] for operation in CALLS}
    for stream in folder.agent_streams():
        for event in read_events(stream):
            result = payload(event)
            if isinstance(result, ToolResulted) and result.tool != "submit_result":
                found[stream.name.partition("-")[0]].append(result)
                if result.outcome != "success":
                    print(f"{result.tool}: {result.error}")
    return found


if __name__ == "__main__":
    main()
