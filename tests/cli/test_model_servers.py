"""Runs with a model server that is replaced."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, git, write
from tests.openai_server import Handler, answer, openai_server, send_json

FUNCTIONS = "".join(
    f"\n\ndef part_{number}(items, count=1):\n    return items[count:] * {number}\n"
    for number in range(2, 8)
)
FILES = {"parts.py": FUNCTIONS.lstrip(), "pyproject.toml": '[project]\nname = "parts"\n'}
ANALYZE = ("analyze", "-o", "docstring", "--decisions", "model", "--json")


def written(handler: Handler, _request: dict[str, Any], _number: int) -> None:
    time.sleep(0.1)
    send_json(handler, answer(text="written"))


@pytest.mark.slow
def test_a_run_is_resumed_with_another_address(poor: Remora, tmp_path: Path) -> None:
    root = write(tmp_path / "parts", FILES)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "parts")
    with openai_server(written) as first, openai_server(written) as second:
        limit = {"REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "12000"}
        user = replace(poor, environ={"REMORA_MODEL__BASE_URL": first.address, **limit})
        process = user.start(*ANALYZE, cwd=root)
        while not first.requests:
            assert process.poll() is None
        process.kill()
        process.communicate()
        refused = poor("analyze", "--resume", "last", cwd=root)
        assert refused.code == 2
        assert f"at {first.address}" in refused.err
        assert f"pass `--model {first.address}`" in refused.err
        done = poor("analyze", "--resume", "last", "--model", second.address, cwd=root)
    assert done.code == 0, done.err


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
