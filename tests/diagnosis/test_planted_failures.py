"""The why line names the cause of planted failures, and blames healthy jobs for nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, user_without_weights
from tests.diagnosis.planted_failures import (
    ALL,
    HEALTHY_OR_UNUSUAL,
    SUMMARY_LOST,
    TOOL_CRASH,
    TOOL_TIME_OUT,
    WRONG_CHOICE,
    Case,
    Planted,
    plant,
)

QUICK = (SUMMARY_LOST, WRONG_CHOICE, TOOL_CRASH)


@pytest.fixture
def user(tmp_path: Path) -> Remora:
    return user_without_weights(tmp_path / "home")


def why(user: Remora, planted: Planted) -> tuple[str, str]:
    """Return the kind of the cause, and the why line that is printed."""
    found = user("trace", "why", planted.agent_id, "--json", cwd=planted.root)
    shown = user("trace", "why", planted.agent_id, cwd=planted.root)
    assert (found.code, shown.code, shown.err) == (0, 0, "")
    cause = found.document["cause"]
    assert shown.out.splitlines()[0] == cause["sentence"]
    assert len(shown.out.splitlines()) <= 12
    return cause["kind"], cause["sentence"]


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.name)
def test_why_names_the_cause_and_the_turn(case: Case, user: Remora, tmp_path: Path) -> None:
    kind, sentence = why(user, plant(case, tmp_path / "project", user))
    assert kind == case.kind
    assert "turn 1" in sentence


@pytest.mark.parametrize("depth", [900, 3_000])
def test_data_that_is_nested_deeply_is_no_bug(crashed: Planted, user: Remora, depth: int) -> None:
    """Remora does not write such data, but a stream may come from elsewhere."""
    path = crashed.root / ".agentfs/traces" / f"{crashed.agent_id}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    deep: tuple[tuple[str, dict[str, Any]], ...] = (
        ("tool_call", {"args": {"a": "DEEP"}}),
        ("tool_result", {"raw_output": "DEEP"}),
        ("tool_result", {"host_calls": [{"name": "f", "args": ["DEEP"]}]}),
    )
    try:
        for kind, data in deep:
            path.write_bytes(b"".join(_with_deep(line, kind, data, depth) for line in lines))
            done = user("trace", "why", crashed.agent_id, "--json", cwd=crashed.root)
            assert done.code == 0 or done.error["code"] == "stream_damaged", done.err
            assert "Traceback" not in user("-v", "show", "last", cwd=crashed.root).err
    finally:
        path.write_bytes(b"".join(lines))


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    place = tmp_path_factory.mktemp("crashed")
    return plant(TOOL_CRASH, place / "project", user_without_weights(place / "home"))


def _with_deep(line: bytes, kind: str, data: dict[str, Any], depth: int) -> bytes:
    event = json.loads(line)
    if event["type"] != kind:
        return line
    event["data"] |= data
    return json.dumps(event).replace('"DEEP"', "[" * depth + "]" * depth).encode() + b"\n"


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_each_cause_is_named(case: Case, user: Remora, tmp_path: Path) -> None:
    kind, _ = why(user, plant(case, tmp_path / "project", user))
    assert kind == case.kind


@pytest.mark.slow
@pytest.mark.parametrize("case", [*HEALTHY_OR_UNUSUAL, TOOL_TIME_OUT], ids=lambda case: case.name)
def test_other_jobs_are_not_blamed(case: Case, user: Remora, tmp_path: Path) -> None:
    kind, _ = why(user, plant(case, tmp_path / "project", user))
    assert kind == case.kind
