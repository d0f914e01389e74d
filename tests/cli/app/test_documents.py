"""What the smaller commands print with `--json`, and what their schemas say of real records."""

import json
from pathlib import Path

from jsonschema import Draft202012Validator

from tests.cli.conftest import Ran, Remora


def test_model_status(remora: Remora, tmp_path: Path) -> None:
    document = remora("model", "status", "--json", cwd=tmp_path).document
    keys = {"provider", "base_url", "name", "reachable", "context", "capabilities", "weights"}
    assert set(document) == {*keys, "counter", "strategy", "problem"}
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


def schema(ran: Ran, name: str) -> Draft202012Validator:
    found = ran("schema", name).document
    assert found["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(found)
    validator = Draft202012Validator(found)
    # of something: an empty schema is a schema too
    assert not validator.is_valid(["no object"])
    return validator


def test_recorded_events_and_packets_fit_their_schemas(ran: Ran) -> None:
    for name in ("agent", "config"):
        schema(ran, name)
    event = schema(ran, "event")
    streams = sorted((ran.root / ".agentfs").glob("*/*.jsonl"))
    assert len(streams) == 3
    lines = [json.loads(line) for path in streams for line in path.read_text().splitlines()]
    for line in lines:
        event.validate(line)
    start = next(line for line in lines if line["type"] == "agent_start")
    assert not event.is_valid(start | {"data": {"packet": "none"}}), "the payload counts"
    schema(ran, "packet").validate(ran("trace", "packet", ran.job["agent_id"]).document)


def test_what_the_hub_says_of_a_node_fits_its_schema(ran: Ran) -> None:
    node = schema(ran, "node")
    found = ran("hub", "get", ran.job["node_id"], "--json").document
    node.validate(found)
    assert not node.is_valid({**found, "line_start": "first"})
    assert not node.is_valid({key: found[key] for key in found if key != "body_hash"})
