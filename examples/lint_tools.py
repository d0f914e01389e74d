"""Three tools for an agent that fixes lint findings, and what their output means for the packet."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

INSTRUCTIONS = """You fix lint findings in a Python file, one call per answer.
Call `lint`, then `read` the lines around a finding, then `edit` them, until nothing is found.
Then answer with one sentence and no call."""


def lint(path: str) -> str:
    """Return the findings of ruff in a file, one per line."""
    command = [sys.executable, "-m", "ruff", "check", "--output-format=concise", "--quiet", path]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def read(path: str, first: int, last: int) -> str:
    """Return the lines `first` to `last` of a file, counted from 1."""
    return "\n".join(Path(path).read_text().splitlines()[first - 1 : last])


def edit(path: str, line: int, old: str, new: str) -> str:
    """Replace `old` with `new` in a line of a file. Without a new text, an empty line goes."""
    lines = Path(path).read_text().splitlines(keepends=True)
    if old not in lines[line - 1]:
        raise ValueError(f"line {line} is {lines[line - 1].rstrip()!r}")
    lines[line - 1] = lines[line - 1].replace(old, new, 1).lstrip("\n")
    Path(path).write_text("".join(lines))
    return f"line {line} of {path} is changed"


TOOLS: list[Callable[..., str]] = [lint, read, edit]


def view_of(tool: str, args: Mapping[str, Any], output: str) -> dict[str, Any]:
    """Return what the packet shows of an output: findings, an excerpt, or a summary."""
    view: dict[str, Any] = {"knowledge_delta": {}}
    if tool == "lint":
        findings = output.splitlines()
        view |= {"summary": f"{len(findings)} findings", "diagnostics": findings}
    elif tool == "read":
        shown = {"path": args["path"], "lines": [args["first"]], "text": output}
        view |= {"summary": "shown under Code", "excerpt": shown}
    else:
        view |= {"summary": output}
    return view
