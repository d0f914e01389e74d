"""What the smaller commands print with `--json`, and what their schemas say of real records."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import Ran, Remora


def test_model_status(remora: Remora, tmp_path: Path) -> None:
    document = remora("model", "status", "--json", cwd=tmp_path).document
    keys = {"provider", "base_url", "name", "reachable", "context", "capabilities", "weights"}
    assert set(document) == {*keys, "measured", "counter", "strategy"}
    assert set(document["weights"]) == {"path", "sha256", "ok"}
    assert document["provider"] == "embedded"
    assert document["reachable"] is True
    assert document["strategy"] == "grammar"


def test_doctor(ran: Ran) -> None:
    done = ran("doctor", "--json")
    assert done.code == 0, done.out
    document = done.document
    assert document["isolation"]["level"] in range(4)
    names = [check["name"] for check in document["checks"]]
    assert {"python", "git", "ruff", "monty", "xllamacpp", "weights", "cache", "root"} <= set(names)


def test_agents(ran: Ran) -> None:
    agents = ran("agents", "list", "--json").document["agents"]
    assert [(each["name"], each["builtin"]) for each in agents] == [
        ("docstring", True), ("lint", True), ("test", True), ("types", True),
        ("steps", False),
    ]  # fmt: skip
    shown = ran("agents", "show", "lint", "--json").document
    assert shown["definition"]["tools"][0]["name"] == "fix_findings"
    assert ran("agents", "validate", "--json").document["ok"] is True


@pytest.mark.parametrize("name", ["packet", "event", "node", "agent", "config"])
def test_a_schema_is_a_schema(ran: Ran, name: str) -> None:
    schema = ran("schema", name).document
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)
    # of something: an empty schema is a schema too
    assert not Draft202012Validator(schema).is_valid(["no object"])


def test_recorded_events_and_packets_fit_their_schemas(ran: Ran) -> None:
    event = Draft202012Validator(ran("schema", "event").document)
    packet = Draft202012Validator(ran("schema", "packet").document)
    streams = sorted((ran.root / ".agentfs").glob("*/*.jsonl"))
    assert len(streams) == 3
    for path in streams:
        for line in path.read_text().splitlines():
            event.validate(json.loads(line))
    packet.validate(ran("trace", "packet", ran.job["agent_id"]).document)


def test_what_the_hub_says_of_a_node_fits_its_schema(ran: Ran) -> None:
    schema = Draft202012Validator(ran("schema", "node").document)
    found = ran("hub", "get", ran.job["node_id"], "--json").document
    schema.validate(found)
    assert not schema.is_valid({**found, "line_start": "first"})
    assert not schema.is_valid({key: found[key] for key in found if key != "uid"})


def test_the_event_schema_looks_into_the_payload(ran: Ran) -> None:
    event = Draft202012Validator(ran("schema", "event").document)
    path = ran.root / ".agentfs" / "traces" / f"{ran.job['agent_id']}.jsonl"
    start = json.loads(path.read_text().splitlines()[0])
    assert start["type"] == "agent_start"
    assert not event.is_valid(start | {"data": {"packet": "none"}})
