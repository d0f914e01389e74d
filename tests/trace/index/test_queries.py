"""Both query backends pass the conformance suite and give the same answers."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remora.ids import is_id
from remora.trace.index.keys import KINDS, IndexKey, TraceKey, parse_key
from remora.trace.index.queries import trace_queries
from remora.trace.read.store_queries import StreamQuery, TraceQueries
from remora.trace.trace_folder import TraceFolder
from tests.trace.index.conformance import NOW, QueryConformance
from tests.trace.index.conftest import NODE, OTHER, Agent, World

TOOLS = st.sampled_from(["apply_fix", "run_check"])
OUTCOMES = st.sampled_from(["success", "error", "partial"])
STEPS = st.one_of(
    st.tuples(st.just("turn"), st.integers(0, 2), TOOLS, OUTCOMES),
    st.tuples(st.just("fail"), st.integers(0, 2)),
    st.tuples(st.just("again"), st.integers(0, 2), TOOLS, OUTCOMES),
    st.tuples(st.just("end"), st.integers(0, 2)),
)
QUERIES = st.builds(
    StreamQuery,
    tool=st.none() | TOOLS,
    outcome=st.none() | OUTCOMES,
    node=st.none() | st.sampled_from(["A.f", "*", "g"]),
    text=st.none() | st.sampled_from(["RUN_check", "v", "zz"]),
)


class TestJsonl(QueryConformance):
    def queries(self, folder: TraceFolder, indexing: tuple[str, ...] = KINDS) -> TraceQueries:
        return trace_queries(folder, "jsonl", indexing, lambda: NOW)

    def test_nothing_is_written(self, world: World, asked: TraceQueries) -> None:
        before = sorted(world.folder.path.rglob("*"))
        asked.find(StreamQuery(tool="apply_fix"))
        assert sorted(world.folder.path.rglob("*")) == before


class TestKv(QueryConformance):
    def queries(self, folder: TraceFolder, indexing: tuple[str, ...] = KINDS) -> TraceQueries:
        return trace_queries(folder, "kv", indexing, lambda: NOW)


def play(agents: list[Agent], step: tuple[Any, ...]) -> None:
    match step:
        case ("turn", number, tool, outcome):
            agents[number].whole_turn(tool, outcome=outcome)
        case ("fail", number):
            agents[number].failed_turn()
        case ("again", number, tool, outcome):
            agents[number].result(tool, outcome=outcome)
        case ("end", number):
            agents[number].end()


@given(st.lists(STEPS, max_size=12), st.lists(QUERIES, min_size=1, max_size=3))
def test_the_backends_agree_after_every_event(
    steps: list[tuple[Any, ...]], queries: list[StreamQuery]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = TraceFolder(Path(root))
        folder.create()
        agents = [Agent(folder), Agent(folder, attempt=2), Agent(folder, node=OTHER)]
        kv, jsonl = (trace_queries(folder, store) for store in ("kv", "jsonl"))
        ended = set[int]()
        for step in steps:
            if step[1] in ended:
                continue
            ended |= {step[1]} if step[0] == "end" else set()
            play(agents, step)
            for query in queries:
                assert kv.find(query) == jsonl.find(query)
            if any(found.turns for found in jsonl.find(StreamQuery(until="0s"))):
                key = f"index:node:{NODE}"
                assert kv.get(key) == jsonl.get(key)
        for agent in agents:
            agent.writer.close()


@given(
    st.from_regex(r"[a-z0-9._-]{1,9}", fullmatch=True).filter(is_id),
    st.text(max_size=30),
    st.integers(0, 10**9),
    st.integers(1, 9),
    st.none() | st.just("lint-0123456789ab"),
)
def test_any_node_has_keys(
    name: str, node: str, turn: int, call: int, agent_id: str | None
) -> None:
    key = TraceKey(
        run_id=name, operation=name, node_id=node, turn=turn, call=call, agent_id=agent_id
    )
    assert parse_key(str(key)) == key
    assert parse_key(f"index:node:{node}") == IndexKey(kind="node", value=node)
