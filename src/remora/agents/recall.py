"""The built-in tools every agent has: look again at a raw output, and say that it is done."""

import json
from collections.abc import Mapping
from typing import Any

from remora.chat import ToolSchema
from remora.errors import HostError

RECALL = "recall"
SUBMIT = "submit_result"
MAX_LINES = 60

BUILTIN_SCHEMAS = (
    ToolSchema(
        name=RECALL,
        description="Show lines of an earlier turn's raw output.",
        parameters={
            "type": "object",
            "properties": {
                "ref": {"type": "string", "description": "turn:N"},
                "lines": {
                    "type": "array",
                    "items": {"type": "integer"},
                    "description": "first and last line",
                },
            },
            "required": ["ref", "lines"],
        },
    ),
    ToolSchema(
        name=SUBMIT,
        description="Finish: the changes are ready, or nothing is left to do.",
        parameters={
            "type": "object",
            "properties": {"summary": {"type": "string", "description": "what was done"}},
        },
    ),
)


def raw_text(raw_output: Any) -> str:
    """A raw output as lines: a string as it is, anything else as indented JSON."""
    if isinstance(raw_output, str):
        return raw_output
    return json.dumps(raw_output, indent=1, ensure_ascii=False)


def recall(ref: str, lines: list[int], outputs: Mapping[int, str]) -> dict[str, Any]:
    """A tool result whose excerpt is lines `first` to `last` (from 1, inclusive) of `turn:N`.

    `outputs` are the raw outputs so far by turn. Raises `HostError` for an unknown turn.
    """
    turn = ref.removeprefix("turn:")
    if not turn.isdecimal() or int(turn) not in outputs:
        known = ", ".join(f"turn:{n}" for n in outputs) or "none yet"
        raise HostError(f"no raw output {ref!r}; there is {known}")
    text = outputs[int(turn)].split("\n")
    first = max(1, min(lines[0] if lines else 1, len(text)))
    wanted = lines[1] if len(lines) > 1 else len(text)
    last = max(first, min(wanted, first + MAX_LINES - 1, len(text)))
    shown = "\n".join(text[first - 1 : last])
    return {
        "result": {"ref": ref, "lines": [first, last], "total": len(text)},
        "summary": f"Lines {first}-{last} of {len(text)} of {ref}",
        "knowledge_delta": {},
        "outcome": "success",
        "excerpt": {"ref": ref, "path": "", "lines": [first, last], "text": shown},
    }
