"""The calls of "Concept Review: Two-Track Memory & Node State Hub" that its first version lacks."""

import asyncio
from pathlib import Path

import pytest

import remora
from remora.hub.node import NodeState

FIELDS = """
key file_path node_name node_type source_hash file_hash signature docstring imports decorators
callers callees related_tests line_count complexity docstring_outdated has_type_hints last_updated
update_source
"""


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


def test_2_4_a_node_state_has_all_fields() -> None:
    assert set(FIELDS.split()) <= set(NodeState.__struct_fields__)
