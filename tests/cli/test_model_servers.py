"""Runs with a model server that is replaced."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, write
from tests.openai_server import Handler, answer, openai_server, send_json

FUNCTIONS = "".join(
    f"\n\ndef part_{number}(items, count=1):\n    return items[count:] * {number}\n"
    for number in range(2, 8)
)
FILES = {"parts.py": FUNCTIONS.lstrip(), "pyproject.toml": '[project]\nname = "parts"\n'}
ANALYZE = ("analyze", "-o", "docstring", "--decisions", "model", "--json")


@pytest.mark.parametrize(
    ("has_schemas", "way", "said"),
    [
        (True, "json_schema", '{"tool":"leave","args":{"item":"part_2","because":"x"}}'),
        (False, "text", 'Sure:\n{"tool": "leave", "args": {"item": "part_2", "because": "x"}}'),
    ],
)
def test_a_server_without_tools_is_asked_in_another_way(
    poor: Remora, tmp_path: Path, *, has_schemas: bool, way: str, said: str
) -> None:
    root = write(tmp_path / "parts", FILES)
    shown: list[dict[str, Any]] = []

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        shown.append(request)
        send_json(handler, answer(text=said))

    with openai_server(chat) as server:
        server.tools, server.schemas = False, has_schemas
        limit = {"REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "12000"}
        user = replace(poor, environ={"REMORA_MODEL__BASE_URL": server.address, **limit})
        assert user("model", "status", "--json", cwd=root).document["strategy"] == way
        done = user(*ANALYZE, "parts.py", cwd=root)
    assert "left 1 missing docstring" in done.err
    assert shown
    assert not any("tools" in request for request in shown)
    assert all(("response_format" in request) is has_schemas for request in shown)
    assert 'Answer with {"tool":"NAME","args":{...}}' in shown[0]["messages"][0]["content"]
