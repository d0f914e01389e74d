"""Each code block of the concept papers runs, beside what took its place.

Left out are diagrams (1.6, 2.2.1, 2.6, 3, Architecture, Critical Path) and what does not parse:
`def __init__(self, ...)` (2.1, 4.1), and `INDEX` within a CREATE TABLE (2.2.3).
"""

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

import remora
from remora import ContextManager
from remora.cli.hub.daemon import start
from remora.hub.node import NodeState
from remora.hub.protocol import GetContext, Health, decode_request
from tests.seeds.paper_blocks import BLOCKS, paper_json, run

USED = set[str]()
LINT = {"agent_id": "lint-1", "goal": "Fix foo.py", "operation": "lint", "node_id": "node:foo.py:f"}


def given(*titles: str) -> pytest.MarkDecorator:
    """Give a test all blocks with these titles, in the order of the papers."""
    USED.update(titles)
    texts = [text for title, text in BLOCKS if title in titles]
    return pytest.mark.parametrize("blocks", [texts], ids=[" ".join(titles)])


def test_each_block_of_the_papers_is_given_to_a_test() -> None:
    assert {title for title, _ in BLOCKS} == USED


TURN: dict[str, Any] = {"type": "turn_start", "turn": 1}
RESULTS = [
    {"raw_output": {"errors": []}, "summary": "Fixed 3", "knowledge_delta": {"left": 0}},
    {"raw_output": None, "summary": "Failed", "error": "IndentationError on line 5"},
    *({"raw_output": "x", "summary": f"step {number}"} for number in range(12)),
    {"raw_output": None, "summary": "Failed", "error": "IndentationError on line 6"},
]


@given("1.4.1", "1.4.2")
@pytest.mark.parametrize("count", range(len(RESULTS) + 1))
def test_1_4_2_both_managers_make_the_same_packet(blocks: list[str], count: int) -> None:
    names = run(*blocks)
    names["ContextManager"]._infer_outcome = lambda _self, raw: "success" if raw else "error"
    theirs, ours = names["ContextManager"](LINT), ContextManager(LINT)
    for data in RESULTS[:count]:
        for event in (TURN, {"type": "tool_result", "tool": "lint", "data": data}):
            theirs.apply_event(event)
            ours.apply_event(event)
    same = ("agent_id", "turn", "goal", "operation", "node_id", "last_error", "error_count")
    assert [getattr(ours.packet, name) for name in same] == [
        getattr(theirs.packet, name) for name in same
    ]
    actions = [(1, "lint", action.summary) for action in theirs.packet.recent_actions]
    assert [(a.turn, a.tool, a.summary) for a in ours.packet.recent_actions] == actions
    assert theirs.packet.knowledge.keys() <= ours.packet.knowledge.keys()
    again = ContextManager(theirs.packet.model_dump()).packet
    assert again.recent_history == ours.packet.recent_history
    assert (again.last_error, again.error_count) == (ours.packet.last_error, again.error_count)


@given("1.4.3")
def test_1_4_3_their_summarizers_are_registered(blocks: list[str]) -> None:
    names, data = run(*blocks, Any=Any), {"raw_output": {"errors": ["E1", "E2"], "fixed": 3}}
    theirs, ours = ContextManager(LINT), ContextManager(LINT)
    theirs.register_summarizer("linter", names["LinterSummarizer"]())
    ours.register_summarizer("linter", remora.memory.summarizers.LinterSummarizer())
    for context in (theirs, ours):
        context.apply_event({"type": "tool_result", "tool": "linter", "data": data})
    assert theirs.packet == ours.packet
    assert theirs.packet.recent_history == ["Fixed 3 lint errors, 2 remaining"]
    raw = {"summary": "Fixed 3 errors", "knowledge_delta": {"left": 2}}
    assert names["ToolSidePassthrough"]().extract_knowledge(raw) == {"left": 2}


@given("1.4.4")
def test_1_4_4_a_result_of_the_contract_is_a_raw_output(blocks: list[str]) -> None:
    context = ContextManager(LINT)
    context.apply_event({"tool": "lint", "raw_output": eval(blocks[0])})
    assert context.packet.recent_history == ["Fixed 3 errors"]
    assert context.packet.knowledge["files_modified"].value == ["foo.py"]


@given("1.4.5")
def test_1_4_5_their_prompt_is_built_of_our_packet(blocks: list[str]) -> None:
    context = ContextManager({**LINT, "last_error": "IndentError"})
    formats = dict.fromkeys(
        ("format_recent_actions", "format_knowledge", "format_error_state"), str
    )
    build = run(*blocks, DecisionPacket=remora.DecisionPacket, **formats)
    prompt = build["build_system_prompt"](context.packet)
    assert "- Target: node:foo.py:f" in prompt
    assert "IndentError" in prompt


@given("2.2.2")
def test_2_2_2_their_requests_are_ours(blocks: list[str]) -> None:
    known = {"NodeStateKV": lambda: {"node:a.py:f": 1}, "NodeState": NodeState}
    server = run(*blocks, Path=Path, json=json, **known)["HubServer"]()
    asked = b'{"type": "get_context", "nodes": ["node:a.py:f"]}'
    assert asyncio.run(server.handle_request(asked)) == b'{"node:a.py:f": 1}'
    assert decode_request(asked) == GetContext(nodes=("node:a.py:f",))
    assert isinstance(decode_request(b'{"type": "health"}'), Health)


@given("2.2.4")
def test_2_2_4_their_options_are_ours(blocks: list[str]) -> None:
    command = run(*blocks, click=click, Path=Path)["hub_daemon"]
    assert {option.name for option in command.params} <= {option.name for option in start.params}


@given("2.2.5", "2.2.6")
def test_2_2_5_rules_and_tables_work_and_have_no_counterpart(blocks: list[str]) -> None:
    """Links are found when asked, and files that are gone leave with their rows."""
    some = dict.fromkeys(("NodeState", "UpdateAction", "GrailExecutor", "ABC", "Any"), object)
    some["DeleteFileNodes"] = str
    names = run(*blocks, Path=Path, abstractmethod=lambda method: method, **some)
    assert names["RulesEngine"]().get_update_actions("deleted", "a.py", None) == ["a.py"]
    with closing(sqlite3.connect(":memory:")) as table:
        table.execute("CREATE TABLE dependencies (source_key)")
        table.execute("CREATE TABLE node_state AS SELECT 'node:a.py:f' AS key, 'a.py' AS file_path")
        their = SimpleNamespace(conn=table)
        assert names["NodeStateKV"].invalidate_file(their, "a.py") == ["node:a.py:f"]
        assert names["NodeStateKV"].invalidate_file(their, "a.py") == []


@given("2.4")
def test_2_4_a_node_state_has_their_fields(blocks: list[str]) -> None:
    imports = "from datetime import *\nfrom typing import *\nfrom pydantic import *"
    theirs = run(imports, *blocks)["NodeState"]
    assert theirs.model_fields.keys() <= set(NodeState.__struct_fields__)


@given("Phase")
class TestImplementationPlan:
    imports = "from typing import *\nfrom pydantic import *"

    def test_2_both_managers_make_the_same_packet(self, blocks: list[str]) -> None:
        names = run(self.imports, *blocks)
        theirs, ours = names["ContextManager"]("g"), ContextManager("g")
        for number in range(12):
            delta = {"add_history": f"Read {number}", "update_knowledge": {f"{number}": "class"}}
            failed = {"set_error": "IndentError"} if number == 11 else {}
            event = names["ToolResultEvent"](
                tool_name="read_file", raw_output="def foo()...", delta={**delta, **failed}
            )
            theirs.apply_event(event)
            ours.apply_event(event.model_dump())
        assert ours.packet.recent_history == theirs.packet.recent_history
        assert {k: f.value for k, f in ours.packet.knowledge.items()} == theirs.packet.knowledge
        assert ours.packet.last_error == theirs.packet.last_error == "IndentError"

    def test_1_their_packet_is_an_initial_context(self, blocks: list[str]) -> None:
        freshness = {"node:foo.py:f": 1708420000.5}
        theirs = run(self.imports, *blocks)["DecisionPacket"](
            goal="g", recent_history=["Read"], last_error="Boom", hub_context_freshness=freshness
        )
        packet = ContextManager(theirs.model_dump()).packet
        assert (packet.recent_history, packet.last_error, packet.error_count) == (
            ["Read"],
            "Boom",
            1,
        )
        assert packet.hub_freshness == {"node:foo.py:f": "1708420000.5"}


@given("Short", "The")
def test_json_packets_are_initial_contexts(blocks: list[str]) -> None:
    first, _event, second = map(paper_json, blocks)
    for said, goal, count in ((first, "", 1), (second, "Fix bug in foo.py", 2)):
        packet = ContextManager(said).packet
        assert (packet.goal, len(packet.recent_actions)) == (goal, count)
        assert packet.last_error == said.get("last_error")


@given("Configuration")
def test_the_yaml_is_a_configuration(blocks: list[str], tmp_path: Path) -> None:
    (tmp_path / "remora.yaml").write_text(*blocks)
    words = ["config", "show", "runner.memory", "--json", "--root", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "remora", *words], check=True, capture_output=True, text=True
    )
    rows = {row["key"]: row["value"] for row in json.loads(done.stdout)["settings"]}
    assert rows["runner.memory.packet_size_limit"] == 3000
    assert done.stderr.splitlines() == [
        "runner.memory.enabled: always on; write runner.memory.mode: packets instead",
        "runner.memory.trace_indexing: always on; remove this setting",
    ]


@given("Long", "The")
class TestGoldenStream:
    """Events of three papers in one file, whose packet they give."""

    @pytest.fixture
    def events(self, blocks: list[str]) -> list[dict[str, Any]]:
        entry, event, _packet = map(paper_json, blocks)
        update = {"type": "hub_update", "hub_context": {"n": {"callers": 3}}}
        return [TURN, event, update, entry, {"type": "model_response", "data": {"text": "Looking"}}]

    @pytest.mark.parametrize(("start", "end"), [("", "\n"), ("\ufeff", ""), ("\n ", "\r\n\n")])
    def test_its_file_is_replayed(self, events: Any, tmp_path: Path, start: str, end: str) -> None:
        log = tmp_path / "events.jsonl"
        log.write_text(start + "\n".join(map(json.dumps, events)) + end, encoding="utf-8")
        packet = remora.replay(log, initial_context="Fix bug in foo.py")
        assert packet == remora.replay(events, initial_context={"goal": packet.goal})
        context = ContextManager("Fix bug in foo.py")
        for event in events:
            context.apply_event(event)
        assert packet == context.packet
        assert packet.recent_history == ["Read file foo.py", "Executed print_var: None"]
        assert remora.replay(str(log)).turn == 6

    def test_an_event_that_is_wrong_is_named(self, events: Any) -> None:
        with pytest.raises(remora.errors.InvalidEvent, match="event 6: unknown event type 'x'"):
            remora.replay([*events, {"type": "x"}])
        assert remora.replay([*events, {"type": "x"}], strict=False).turn == 6
