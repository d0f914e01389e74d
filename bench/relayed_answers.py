"""Answer a model's requests in batches, by people or agents.

A server keeps each request as `NNNN.request.json` in FOLDER and waits for `NNNN.answer.json`.
`relayed_answers.py batch FOLDER TEXT` writes requests to TEXT, and `post FOLDER ANSWERS` gives back
`{"NNNN": {"tool": NAME, "args": {}}}`. Each batch needs a new person or agent, so that no request
is answered with knowledge of another turn of its job.
"""

import json
import sys
from pathlib import Path
from typing import Any

MOST = 8


def batch(relay: Path, text: Path) -> None:
    """Write the oldest requests that are in no batch yet. Those without a packet are of no job."""
    shown, tools = list[str](), dict[str, str]()
    for path in sorted(relay.glob("*.request.json")):
        mark = path.with_suffix(".taken")
        request = json.loads(path.read_text())
        if mark.exists() or request.get("max_tokens", 0) <= 16 or len(shown) == MOST:
            continue
        mark.touch()
        given = "\n".join(json.dumps(tool["function"]) for tool in request.get("tools", ()))
        name = tools.setdefault(given, f"T{len(tools) + 1}")
        head = f"######## REQUEST {path.name[:4]} (tools: {name}) ########"
        shown.append("\n".join([head, *map(message_text, request["messages"])]))
    sets = (f"######## TOOLS {name} ########\n{given}" for given, name in tools.items())
    text.write_text("\n\n".join([*sets, *shown]))
    print(f"{len(shown)} requests: {text}")


def message_text(message: dict[str, Any]) -> str:
    called = "".join(json.dumps(call["function"]) for call in message.get("tool_calls") or ())
    return f"--- {message['role']} ---\n{message.get('content') or ''}{called}"


def post(relay: Path, answers: Path) -> None:
    for number, call in json.loads(answers.read_text()).items():
        (relay / f"{number}.answer.json").write_text(json.dumps({"call": call}))


if __name__ == "__main__":
    name, relay, file = sys.argv[1:]
    {"batch": batch, "post": post}[name](Path(relay), Path(file))
