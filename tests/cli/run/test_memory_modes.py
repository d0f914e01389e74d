"""`runner.memory.mode`: a model is sent a real chat instead of packets, to compare them."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, write
from tests.openai_server import Handler, Server, answer, openai_server, send_json

SOURCE = 'import os\n\n\ndef pay(price):\n    """Pay."""\n    return prices + rate\n'
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("read_code", {"first": 1, "last": 3}),
    ("edit_lines", {"first": 1, "last": 99, "text": ""}),
    ("unknown", {}),
    ("edit_lines", {"first": 3, "last": 3, "text": "    return price + rate"}),
    ("submit_result", {}),
)


def analyzed(remora: Remora, root: Path, mode: str) -> Server:
    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        send_json(handler, answer(CALLS[number - 1]))

    with openai_server(chat) as server:
        environ = {
            "REMORA_MODEL__BASE_URL": server.address,
            "REMORA_RUNNER__MEMORY__MODE": mode,
            "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "12000",
        }
        user = replace(remora, environ=environ)
        done = user("analyze", "-o", "lint", "--decisions", "model", "--json", cwd=root)
    (job,) = done.document["jobs"]
    assert job["status"] == "verified", done.err
    checked = remora("trace", "verify", cwd=root)
    assert checked.code == 0, checked.out
    replayed = remora("trace", "replay", cwd=root)
    assert replayed.code == 0, replayed.out
    return server


@pytest.mark.parametrize("mode", ["masked", pytest.param("raw", marks=pytest.mark.slow)])
def test_a_model_is_sent_a_chat(poor: Remora, tmp_path: Path, mode: str) -> None:
    root = write(tmp_path / "shop", {"shop.py": SOURCE})
    requests = analyzed(poor, root, mode).requests
    assert len(requests) == len(CALLS)
    for earlier, later in pairwise(requests):
        system, first, *pairs = later["messages"]
        assert (system["role"], first["role"]) == ("system", "user")
        assert earlier["messages"][0] == system
        assert [one["role"] for one in pairs] == ["assistant", "tool"] * (len(pairs) // 2)
        assert len(pairs) == len(earlier["messages"])
        for called, result in zip(pairs[::2], pairs[1::2], strict=True):
            (call,) = called["tool_calls"]
            assert result["tool_call_id"] == call["id"]
        ids = [one["tool_call_id"] for one in pairs[1::2]]
        assert len(set(ids)) == len(ids)
    messages = requests[-1]["messages"]
    called = [one["tool_calls"][0]["function"]["name"] for one in messages[2::2]]
    assert called == ["fix_findings", *(tool for tool, _ in CALLS[:-1])]
    everything = "\n".join(one["content"] for one in messages)
    assert everything.count("Suggestions:") <= 1
    assert everything.count("Lines 1-3 of shop.py") == 1
    assert "Error: " in messages[9]["content"]
    read = messages[5]["content"]
    if mode == "raw":
        assert read.endswith("    return prices + rate")
        assert everything.count("return prices") == 2, "where the job began, and as it was read"
    else:
        assert read == "Lines 1-3 of shop.py"
