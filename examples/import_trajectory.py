"""Turn a trajectory of SWE-agent into a stream of Remora, which `remora trace verify` checks.

Run: python examples/import_trajectory.py examples/sample.traj
"""

import json
import sys
from pathlib import Path
from typing import Any

import remora

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = [{"name": "run", "description": "Run a command in the shell.", "parameters": COMMAND}]


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message, whose content is a text or a list of parts."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def main(path: str) -> None:
    """Record each step of the trajectory, and print the ID of the agent."""
    saved = json.loads(Path(path).read_text(encoding="utf-8"))
    system, task = map(text_of, saved["history"][:2])
    with remora.record(
        task, instructions=system, tools=TOOLS, operation="swe", limit=100_000
    ) as recording:
        for number, step in enumerate(saved["trajectory"]):
            recording.model_request()
            action = step["action"].strip()  # empty if the answer had none
            calls = [(str(number), "run", {"command": action})] if action else []
            recording.model_response(step["response"], calls)
            if calls:
                recording.tool_result(str(number), step["observation"])
    print(recording.agent_id)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["examples/sample.traj"]))
