"""Seconds until a model sees what a judge says about its edit, annotation or test."""

import os
import re
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from instant_model import Handler

import remora
from remora.memory.events import ToolResulted, payload
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder

FILES = 8
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "lint": ("edit_lines", {"first": 4, "last": 4, "text": "    except ValueError:"}),
    "types": ("annotate", {"signature": "(value: int, limit: int = 3) -> int"}),
    "test": ("write_test", {"code": "def test_rest():\n    assert NAME(7) == 1\n"}),
}
REACH = {"lint": 0.3, "types": 1.0, "test": 3.0}
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
    """Return the median seconds of a tool's result by operation."""
    with TemporaryDirectory() as made, ThreadingHTTPServer(("127.0.0.1", 0), _Chat) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        os.environ |= {"HOME": made, "VIRTUAL_ENV": sys.prefix}
        root = _project(Path(made, "project"))
        address = f"http://127.0.0.1:{server.server_port}/v1"
        remora.analyze(
            root=root, operations=list(CALLS), model=address, decisions="model", concurrency=1
        )
        server.shutdown()
        found = _durations(TraceFolder(root))
    for operation, seconds in found.items():
        tool, most = CALLS[operation][0], REACH[operation]
        print(f"{tool:10} {seconds:.2f} s  (aim <= {most} s)")
    return found


class _Chat(Handler):
    @staticmethod
    def choose(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Make the operation's call once in each job, and then submit."""
        text = body["messages"][-1]["content"]
        target = re.search(r"^Target: (\w+) .*?node:m(\d+)", text, re.MULTILINE)
        assert target is not None, text
        tool, args = CALLS[target[1]]
        if f". {tool}(" in text:
            return "submit_result", {}
        name = f"rest_{target[2]}"
        args = {
            key: value.replace("NAME", name) if key == "code" else value
            for key, value in args.items()
        }
        return tool, args if tool == "edit_lines" else {"function": name, **args}


def _project(root: Path) -> Path:
    root.mkdir()
    (root / "pyproject.toml").write_text(_SETTINGS)
    for number in range(FILES):
        (root / f"m{number}.py").write_text(_CODE.format(number))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def _durations(folder: TraceFolder) -> dict[str, float]:
    tools = {tool: operation for operation, (tool, _) in CALLS.items()}
    found: dict[str, list[float]] = {operation: [] for operation in CALLS}
    for stream in folder.agent_streams():
        for event in read_events(stream):
            result = payload(event)
            if isinstance(result, ToolResulted) and result.tool in tools:
                found[tools[result.tool]].append(result.duration_ms / 1000)
                if result.outcome != "success":
                    print(f"{result.tool}: {result.error}")
    return {operation: median(seconds) for operation, seconds in found.items() if seconds}


if __name__ == "__main__":
    main()
