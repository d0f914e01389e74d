"""Damaged messages: no internal error, and each good message after them is answered."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from mcp_types import INTERNAL_ERROR

from tests.mcp.test_stdio import Script

PARAMS: tuple[dict[str, Any], ...] = (
    {"name": "context", "arguments": {"name": "Cart.total", "budget": 300}},
    {"name": "hub_callers", "arguments": {"name": "Cart", "kind": "tests", "depth": 2, "limit": 5}},
    {"name": "runs", "arguments": {"run": "last", "status": "failed", "offset": 0}},
    {"name": "trace_packet", "arguments": {"agent": "lint", "turn": 0}},
    {"name": "verify_edit", "arguments": {"path": "a.py", "edits": [{"old": "a", "new": "b"}]}},
    {"cursor": "a", "_meta": {"progressToken": 1}},
    {"requestId": 1, "reason": "late", "progressToken": 1, "progress": 0.5},
    {"protocolVersion": "2025-06-18", "capabilities": {}},
)
METHODS = ("tools/list", "notifications/cancelled", "initialize")
DEEP = json.loads("[" * 150 + "]" * 150)
WRONG: tuple[Any, ...] = (
    None, True, -1, 2**70, 1.5, float("nan"), float("inf"), "", "\0", "\ud800", "é\u2028\ufeff", "x" * 50_000,
    "../..", "/", "file:///", "C:\\", "%s{}", "NaN", "1e999", "[" * 2_000, '[{"old": "\\udc00"}]', [], {}, [[]],
    {"": None}, DEEP, json.dumps(DEEP), 10**400,
)  # fmt: skip


def put_wrong(value: Any, chance: random.Random) -> Any:
    """Replace, rename, remove or repeat a part of a value."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        name = chance.choice([*value])
        part = {chance.choice([*[name] * 8, "id", "\ud800"]): put_wrong(value[name], chance)}
        rest = {key: value[key] for key in value if key != name}
        return chance.choice([{**rest, **part}, {**rest, **part}, {**value, **part}, rest])
    if isinstance(value, list) and value and chance.random() < 0.5:
        return [put_wrong(value[0], chance), *value[1:]] * chance.choice([1, 1, 300])
    return chance.choice([*WRONG, [value], json.dumps(value), str(value)])


def damaged(number: int, chance: random.Random) -> bytes:
    """Return a message that is wrong in its values, in its bytes, in both or not at all."""
    params, its = chance.choice(PARAMS), chance.choice([number, f"s{number}", 7])
    method = "tools/call" if "name" in params else chance.choice(METHODS)
    message = {"jsonrpc": "2.0", "id": its, "method": method, "params": params}
    if chance.random() < 0.6:
        message = put_wrong(message, chance)
    text = json.dumps(message, ensure_ascii=chance.random() < 0.9)
    line = text.encode("utf-8", "surrogatepass")
    at = chance.randrange(len(line) + 1)
    begin, end, byte = line[:at], line[at:], chance.choice([*b'"\\{],\0\xff\xed'])
    noise = chance.randbytes(chance.choice([1, 2, 40]))
    changed = [begin, begin + noise + end, begin + bytes([byte]) + end[1:], end + begin, line + end]
    return chance.choice([line] * 6 + changed).replace(b"\n", b" ")


@pytest.mark.parametrize(
    "count", [100, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_the_server_lives(project: Path, home: Path, count: int) -> None:
    chance, script = random.Random(73), Script(project, home)
    script.shake_hands()
    for number in range(count):
        script.send(damaged(number, chance))
        script.send(f'{{"jsonrpc": "2.0", "id": "good {number}", "method": "ping"}}')
        while (answer := script.read()).get("id") != f"good {number}":
            assert answer.get("error", {}).get("code") not in (0, INTERNAL_ERROR)
            assert "fault in Remora" not in json.dumps(answer)
        assert answer["result"] == {}
    assert "Traceback" not in script.close()[1]
