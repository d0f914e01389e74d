"""Every script whose result reaches the packet, or the verdict, runs again from the stream alone."""

import json
import shutil
import textwrap
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.agents.definition.agent import Agent, load_agents
from remora.agents.replay import ScriptReplay, replay_scripts
from remora.memory.events import ContextUpdate, Event, SubmitResult, ToolResulted, payload
from tests.agents.conftest import Play, Played, Theatre, verify_problems
from tests.agents.every_script import ACT, FIRST, OWN, TOLD, everything
from tests.step_lint.operations import OPERATIONS


def again(played: Played, events: list[Event] | None = None) -> list[ScriptReplay]:
    """The scripts run once more, where neither project nor scripts nor private copy are left."""
    folder = played.folder
    for place in folder.root.parent.iterdir():
        if place != folder.root:
            shutil.rmtree(place)
    (folder.root / "mod.py").unlink(missing_ok=True)
    return list(replay_scripts(events or played.events, folder.blobs, folder.objects))


def holding(event: Event, data: Mapping[str, Any]) -> Event:
    """The event with other data."""
    return msgspec.structs.replace(event, data=msgspec.Raw(json.dumps(data).encode()))


def test_every_kind_of_script_is_recorded_and_replays_to_the_same_result(theatre: Theatre) -> None:
    played = everything(theatre)

    first, second, *_ = played.payloads(ContextUpdate)
    assert first.script_sha256 == sha256(script_text(FIRST)).hexdigest()
    assert first.clock is not None
    assert first.seed == 0
    assert [call["name"] for call in first.host_calls] == ["list_files"]
    assert first.inputs == {}  # it takes none
    assert second.inputs == {}  # the packet is what the stream folds to
    asked = played.payloads(ContextUpdate)[2]
    assert sorted(asked.inputs) == ["options", "target"]
    assert played.folder.objects.get(first.script_sha256) == script_text(FIRST)
    found = again(played)
    assert [(one.turn, one.kind, one.script) for one in found] == [
        (0, "context", "first.pym"),
        (0, "context", "second.pym"),
        (1, "candidates", "candidates.pym"),
        (1, "tool", "act.pym"),
        (1, "summarizer", "told.pym"),
        (2, "candidates", "candidates.pym"),
        (2, "verify", "own.pym"),
        (2, "verify", "texts.pym"),
    ]
    assert [(one.same, one.detail) for one in found] == [(True, "")] * len(found)
    (submitted,) = played.payloads(SubmitResult)
    assert [check["ok"] for check in submitted.checks] == [True, True, False]


def script_text(text: str) -> bytes:
    return textwrap.dedent(text).encode()


CHANGES: dict[str, Any] = {
    "context value": lambda data: {"value": "other"},
    "context output": lambda data: {"output_sha256": "0" * 64},
    "context error": lambda data: {"error": "other"},
    "context seed": lambda data: {"seed": 77},
    "context clock": lambda data: {"clock": "2001-01-01T00:00:00+00:00"},
    "context calls": lambda data: {"host_calls": []},
    "tool raw_output": lambda data: {"raw_output": 1},
    "tool outcome": lambda data: {"outcome": "partial"},
    "tool error_kind": lambda data: {"error_kind": "limit"},
    "tool args": lambda data: {"args": {"word": "else"}},
    "summarizer output": lambda data: {
        "summarized": data["summarized"] | {"output_sha256": "0" * 64}
    },
    "verify detail": lambda data: {"checks": [c | {"detail": "fine"} for c in data["checks"]]},
}
"""What is recorded otherwise than it was: which kind of script's, and how."""


def test_scripts_without_recorded_inputs_are_unknown(theatre: Theatre) -> None:
    played = everything(theatre)
    newer = ("script_sha256", "clock", "seed", "inputs", "output_sha256", "summarized")

    def without_inputs(event: Event) -> Event:
        data = json.loads(bytes(event.data))
        if event.type == "context_update":
            data = {key: value for key, value in data.items() if key not in newer}
        if event.type == "submit_result":
            data["checks"] = [
                {key: value for key, value in check.items() if key != "script"}
                for check in data["checks"]
            ]
        return holding(event, data)

    found = again(played, [without_inputs(event) for event in played.events])

    unknown = [one for one in found if one.same is None]
    assert {one.kind for one in unknown} == {"context", "candidates", "verify"}
    assert all("inputs are not recorded" in one.detail for one in unknown)
    assert all(one.same for one in found if one.kind in ("tool", "summarizer"))


def test_a_script_missing_from_objects_is_unknown(theatre: Theatre) -> None:
    played = everything(theatre)
    digest = sha256(script_text(ACT)).hexdigest()
    content = played.folder.objects.folder / digest[:2] / digest
    content.unlink()

    (tool,) = [one for one in again(played) if one.kind == "tool"]

    assert tool.same is None
    assert "is missing" in tool.detail
    content.mkdir()
    (tool,) = [one for one in again(played) if one.kind == "tool"]
    assert tool.same is None
    assert "is a link or the wrong type of file" in tool.detail


@pytest.mark.slow
def test_what_is_recorded_otherwise_is_reported(theatre: Theatre) -> None:
    played = everything(theatre)
    types = {"context": "context_update", "verify": "submit_result"}
    for change, changed in CHANGES.items():
        kind = change.split(maxsplit=1)[0]
        events = list(played.events)
        wanted = types.get(kind, "tool_result")
        number = next(n for n, event in enumerate(events) if event.type == wanted)
        data = json.loads(bytes(events[number].data))
        events[number] = holding(events[number], data | changed(data))

        found = again(played, events)

        assert kind in {one.kind for one in found if one.same is False}, change


def test_verify_misses_a_missing_script_and_a_foreign_stream_may_say_anything(
    theatre: Theatre,
) -> None:
    played = everything(theatre)
    for text in (FIRST, TOLD, OWN):
        digest = sha256(script_text(text)).hexdigest()
        content = played.folder.objects.folder / digest[:2] / digest
        moved = content.rename(content.with_name("moved"))

        (problem,) = verify_problems(played.folder)

        assert f"blob: object {digest} is missing" in problem
        moved.rename(content)
    records: tuple[Any, ...] = (None, [], {"inputs": 7}, {"clock": "never"}, {"seed": "x"})
    for record in records:
        events = [holding(event, spoilt(event, record)) for event in played.events]

        found = again(played, events)

        assert not any(one.same is False for one in found if one.kind == "verify"), record


def spoilt(event: Event, record: Any) -> Mapping[str, Any]:
    data: dict[str, Any] = json.loads(bytes(event.data))
    if event.type == "submit_result":
        for check in data["checks"]:
            check["script"] = record
    if event.type == "context_update" and isinstance(record, dict) and "clock" in record:
        data |= record
    return data


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lint", "docstring"])
def test_the_built_in_agents(theatre: Theatre, name: str) -> None:
    agent: Agent = load_agents(Path("/nowhere"), OPERATIONS, [name])[name]
    node = "__module__" if name == "lint" else "g"
    played = theatre.play(Play(agent=agent, node=node, decisions="rules"))

    found = again(played)

    expected = (
        {"candidates", "tool"} if name == "lint" else {"candidates"}
    )  # `g` needs no docstring
    assert expected <= {one.kind for one in found}
    assert [(one.same, one.detail) for one in found] == [(True, "")] * len(found)
    recorded = [payload(event) for event in played.events if event.type == "tool_result"]
    scripted = [one for one in recorded if isinstance(one, ToolResulted) and one.script_sha256]
    assert len(scripted) == sum(one.kind == "tool" for one in found)
