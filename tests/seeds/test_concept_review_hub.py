"""The calls of "Concept Review: Two-Track Memory & Node State Hub" that its first version lacks."""

import asyncio
from pathlib import Path

import pytest

import remora


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("def f(x: int) -> str:\n    return str(x)\n")
    return tmp_path


def test_2_2_2_a_client_without_a_daemon_answers(project: Path) -> None:
    client = remora.HubClient(project, socket_path=project / "no.sock", db=project / "hub.db")
    states = asyncio.run(client.get_context(["node:a.py:f"]))
    state = states["node:a.py:f"]
    assert state.signature == "def f(x: int) -> str"
    assert state.node_type == "function"
