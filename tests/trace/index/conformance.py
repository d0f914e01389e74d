"""Conformance suite for query backends. A backend defines `queries` and inherits the tests."""

from datetime import UTC, datetime

import msgspec
import pytest

from remora.errors import NotFound, StreamDamaged, UsageError
from remora.trace.index.keys import KINDS
from remora.trace.read.reader import list_streams, read_events
from remora.trace.read.store_queries import StreamMatch, StreamQuery, TraceQueries
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.trace.index.conftest import NODE, OTHER, RUN, World, parsed

NOW = datetime(2026, 1, 2, 3, 10, tzinfo=UTC)
JOB = f"trace:{RUN}:lint:{NODE}"


def told(found: list[StreamMatch]) -> dict[str, list[tuple[int, int]]]:
    return {f.stream.agent_id: [(match.turn, match.call) for match in f.turns] for f in found}


class QueryConformance:
    """Subclass it as `Test…` and define `queries`."""

    def queries(self, folder: TraceFolder, indexing: tuple[str, ...] = KINDS) -> TraceQueries:
        """Return the query object for the folder; its clock returns NOW."""
        raise NotImplementedError

    @pytest.fixture
    def asked(self, world: World) -> TraceQueries:
        return self.queries(world.folder)

    # keys

    def test_every_result_is_had_as_recorded(self, world: World, asked: TraceQueries) -> None:
        count = 0
        for agent in world.agents:
            calls: dict[int, int] = {}
            for line in world.lines(agent):
                event = parsed(line)
                if event["type"] != "tool_result":
                    continue
                call = calls[event["turn"]] = calls.get(event["turn"], 0) + 1
                suffix = f"#{call}" if call > 1 else ""
                key = "trace:{run_id}:{operation}:{node_id}:{turn}".format(**event) + suffix
                assert asked.get(f"{key}@{agent.name}") == event
                assert asked.line(f"{key}@{agent.name}") == line
                assert list(asked.get(f"{key}@{agent.name}")) == list(event)
                count += 1
        assert count == 8

    def test_the_plain_key_is_the_newest_agents(self, world: World, asked: TraceQueries) -> None:
        entry = asked.get(f"{JOB}:1")
        assert isinstance(entry, dict)
        assert (entry["agent_id"], entry["data"]["raw_output"]) == (world.second.name, "first")
        assert parsed(asked.line(f"{JOB}:1#2"))["data"]["raw_output"] == "second"
        # what the newest one has no result of, an older one may have
        assert parsed(asked.line(f"{JOB}:3"))["agent_id"] == world.first.name

    @pytest.mark.parametrize(
        ("key", "count"),
        [
            (f"index:run:{RUN}", 7),
            ("index:run:run-2", 1),
            ("index:operation:lint", 7),
            ("index:operation:docstring", 1),
            (f"index:node:{NODE}", 6),
            (f"index:node:{OTHER}", 1),
            ("index:node:node:a:3#2@b.py:f", 1),
        ],
    )
    def test_an_index_key_lists_each_entry_once(
        self, key: str, count: int, asked: TraceQueries
    ) -> None:
        keys = asked.get(key)
        assert isinstance(keys, list)
        assert len({msgspec.json.encode(asked.get(each)) for each in keys}) == len(keys) == count

    def test_keys_are_in_order_and_as_short_as_can_be(
        self, world: World, asked: TraceQueries
    ) -> None:
        assert asked.get(f"index:node:{NODE}") == [
            f"trace:{RUN}:docstring:{NODE}:1",
            f"{JOB}:1",
            f"{JOB}:1@{world.first.name}",
            f"{JOB}:1#2",
            f"{JOB}:2",
            f"{JOB}:3",
        ]

    @pytest.mark.parametrize(
        ("key", "hint"),
        [
            (f"{JOB}:9", "turns 1 to 3 have results"),
            (f"{JOB}:2@nobody", "its agents are "),
            (f"trace:{RUN}:lint:node:src/a.py:A.g:1", f"nearest:\n{JOB}:TURN"),
            ("trace:zzzzzz:yyyyyyy:wwwwwww:1", "trace list"),
            ("index:run:run-11", f"nearest:\nindex:run:{RUN}"),
            ("index:node:node:src/a.py:A.ff", f"nearest:\nindex:node:{NODE}"),
            ("index:operation:lnt", "nearest:\nindex:operation:lint"),
        ],
    )
    def test_an_unknown_key_names_the_nearest(
        self, key: str, hint: str, asked: TraceQueries
    ) -> None:
        with pytest.raises(NotFound) as error:
            asked.get(key)
        assert key.partition("@")[0] in error.value.message
        assert hint in error.value.hint

    @pytest.mark.parametrize(
        "key", ["", "trace", "trace:a:b:c", f"{JOB}:x", f"{JOB}:1#0", "index:tool:x", "index:node"]
    )
    def test_what_is_not_a_key(self, key: str, asked: TraceQueries) -> None:
        with pytest.raises(UsageError):
            asked.get(key)

    def test_only_one_entry_has_a_line(self, asked: TraceQueries) -> None:
        with pytest.raises(UsageError):
            asked.line(f"index:run:{RUN}")

    def test_what_is_not_configured_is_not_indexed(self, world: World) -> None:
        asked = self.queries(world.folder, ("run",))
        assert asked.get("index:run:run-2")
        for kind in ("index:node:x", "index:operation:lint"):
            with pytest.raises(NotFound) as error:
                asked.get(kind)
            assert "trace_indexing" in error.value.hint

    def test_a_folder_without_streams(self, folder: TraceFolder) -> None:
        asked = self.queries(folder)
        assert asked.find(StreamQuery()) == asked.find(StreamQuery(text="x")) == []
        with pytest.raises(NotFound):
            asked.get(f"{JOB}:1")

    # queries

    def test_without_a_question_every_stream_is_found(
        self, world: World, asked: TraceQueries
    ) -> None:
        assert [found.stream for found in asked.find(StreamQuery())] == list_streams(world.folder)
        assert {found.turns for found in asked.find(StreamQuery())} == {()}

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            (StreamQuery(run="run-2"), ["open"]),
            (StreamQuery(run="run"), []),
            (StreamQuery(operation="docstring"), ["doc"]),
            (StreamQuery(node="A.f"), ["doc", "first", "second"]),
            (StreamQuery(node="src/b.py:*"), ["open"]),
            (StreamQuery(node="nothing*"), []),
            (StreamQuery(status="submitted"), ["doc", "odd", "second"]),
            (StreamQuery(status="interrupted"), ["open"]),
            (StreamQuery(status="failed", node="A.*"), ["first"]),
        ],
    )
    def test_streams_are_chosen(
        self, query: StreamQuery, names: list[str], world: World, asked: TraceQueries
    ) -> None:
        chosen = {getattr(world, name).name for name in names}
        assert {found.stream.agent_id for found in asked.find(query)} == chosen

    @pytest.mark.parametrize(
        ("query", "turns"),
        [
            (StreamQuery(outcome="partial"), {"first": [(2, 1)]}),
            (StreamQuery(outcome="error"), {"first": [(3, 1)], "second": [(2, 1)]}),
            (StreamQuery(tool="run_check"), {"first": [(3, 1)]}),
            (StreamQuery(tool="never_done"), {"open": [(2, 1)]}),
            (StreamQuery(decided_by="model"), {"second": [(1, 1), (1, 2)]}),
            (StreamQuery(decided_by="fallback", outcome="success"), {"open": [(1, 1)]}),
            (
                StreamQuery(tool="apply_fix", node="A.f"),
                {"first": [(1, 1)], "second": [(1, 1), (1, 2)]},
            ),
            (StreamQuery(outcome="partial", tool="run_check"), {}),
        ],
    )
    def test_turns_are_chosen(
        self,
        query: StreamQuery,
        turns: dict[str, list[tuple[int, int]]],
        world: World,
        asked: TraceQueries,
    ) -> None:
        assert told(asked.find(query)) == {getattr(world, n).name: t for n, t in turns.items()}

    def test_a_turn_is_reported(self, world: World, asked: TraceQueries) -> None:
        (found,) = asked.find(StreamQuery(decided_by="model"))
        match = found.turns[0]
        assert (match.tool, match.outcome, match.decided_by) == ("apply_fix", "success", "model")
        assert (match.prompt_tokens, match.ms) == (321, 0)
        assert match.key == f"{JOB}:1@{world.second.name}"
        assert parsed(asked.line(match.key))["data"]["raw_output"] == "first"
        times = [e.timestamp for e in read_events(world.second.path) if e.turn == 1]
        assert (match.began, match.ended) == (times[0], times[-1])

    def test_a_turn_without_a_result_has_no_key(self, asked: TraceQueries) -> None:
        (found,) = asked.find(StreamQuery(tool="never_done"))
        assert [(m.key, m.outcome, m.ms) for m in found.turns] == [(None, "", None)]

    @pytest.mark.parametrize(
        ("text", "turns"),
        [
            ('SAID "grüsse"', {}),
            ('said "GRÜß', {"first": [(1, 1)]}),  # as it was printed, quotes and all
            ("and LEFT", {"first": [(1, 1)]}),
            ('"\nand', {"first": [(1, 1)]}),
            ("needle", {"first": [(2, 1)]}),  # it stands in a blob
            ("second", {"second": [(1, 1), (1, 2)]}),
            ("BAD_CALL", {"second": [(2, 1)]}),
            ("no such words", {}),
        ],
    )
    def test_text_is_found(
        self,
        text: str,
        turns: dict[str, list[tuple[int, int]]],
        world: World,
        asked: TraceQueries,
    ) -> None:
        found = told(asked.find(StreamQuery(text=text, operation="lint", run=RUN)))
        assert found == {getattr(world, name).name: told for name, told in turns.items()}

    def test_text_narrows_what_else_was_asked(self, world: World, asked: TraceQueries) -> None:
        found = asked.find(StreamQuery(text="apply_fix", tool="run_check", outcome="error"))
        assert told(found) == {}  # no word of it in that turn
        assert told(asked.find(StreamQuery(text="run_check", outcome="error")))

    def test_times_are_in_utc_and_meet_any_part_of_a_turn(
        self, world: World, asked: TraceQueries
    ) -> None:
        # the writer's clock: agent_start at :06, then each event a second later
        def turns(since: str | None, until: str | None = None) -> list[tuple[int, int]]:
            query = StreamQuery(since=since, until=until, status="failed")
            return told(asked.find(query)).get(world.first.name, [])

        assert turns("2026-01-02T03:04:15.1Z") == [(3, 1)]
        assert turns("2026-01-02T04:04:14.5+01:00") == [(3, 1)]
        assert turns(None, "2026-01-02T03:04:07Z") == [(0, 1)]
        assert turns("2026-01-02T03:04:08Z", "2026-01-02T03:04:08.5Z") == [(1, 1)]
        assert turns("2026-01-02") == [(0, 1), (1, 1), (2, 1), (3, 1)]
        assert turns("345s") == [(3, 1)]
        assert turns("1m") == turns("2026-01-03") == []

    @pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "3y", "-2h", "999999w"])
    def test_what_is_not_a_time(self, text: str, asked: TraceQueries) -> None:
        with pytest.raises(UsageError):
            asked.find(StreamQuery(since=text))

    # streams that are not as they should be, and streams that go on

    def test_answers_follow_a_stream_that_grows(self, world: World, asked: TraceQueries) -> None:
        world.open.reopen()
        for turn in range(3, 6):
            before = told(asked.find(StreamQuery(tool="late")))
            world.open.whole_turn("late", output=str(turn))
            after = told(asked.find(StreamQuery(tool="late")))
            assert len(after[world.open.name]) == len(before.get(world.open.name, [])) + 1
            assert parsed(asked.line(f"trace:run-2:lint:{OTHER}:{turn}"))["turn"] == turn

    def test_a_sealed_stream_is_the_same_stream(self, world: World, asked: TraceQueries) -> None:
        for query in (
            StreamQuery(text="needle"),
            StreamQuery(outcome="error"),
            StreamQuery(decided_by="model"),
        ):
            before = asked.find(query)
            for agent in world.agents:
                if agent.path.exists():
                    compress_stream(agent.path)
            assert told(asked.find(query)) == told(before) != {}
        assert parsed(asked.line(f"{JOB}:1"))["agent_id"] == world.second.name

    def test_a_missing_stream_is_not_found(self, world: World, asked: TraceQueries) -> None:
        assert asked.get(f"{JOB}:1")
        world.second.path.unlink()
        assert parsed(asked.line(f"{JOB}:1"))["agent_id"] == world.first.name
        assert told(asked.find(StreamQuery(decided_by="model"))) == {}

    def test_a_changed_line_is_refused(self, world: World, asked: TraceQueries) -> None:
        assert asked.get(f"{JOB}:1")
        damaged = world.second.path.read_bytes().replace(b'"first"', b'"forst"')
        world.second.path.write_bytes(damaged)
        with pytest.raises(StreamDamaged):
            asked.get(f"{JOB}:1")

    def test_what_is_behind_a_damaged_line_is_not_told(
        self, world: World, asked: TraceQueries
    ) -> None:
        lines = world.lines(world.first)
        (place,) = (i for i, line in enumerate(lines) if b'"read_code"' in line and b'"$' in line)
        lines[place] = lines[place].replace(b'"seq"', b'"sek"')
        world.first.path.write_bytes(b"\n".join(lines) + b"\n")
        assert told(asked.find(StreamQuery(outcome="success", status="failed"))) == {
            world.first.name: [(1, 1)]
        }
        with pytest.raises(NotFound):
            asked.get(f"{JOB}:3@{world.first.name}")

    @pytest.mark.parametrize("junk", [b"", b"\0" * 99, b"{}\n", b"not json\n" * 9, b"\xff\n"])
    def test_files_that_are_no_streams(
        self, junk: bytes, world: World, asked: TraceQueries
    ) -> None:
        before = told(asked.find(StreamQuery(tool="apply_fix")))
        world.folder.agent_stream("junk").write_bytes(junk)
        assert told(asked.find(StreamQuery(tool="apply_fix"))) == before
        assert "junk" in told(asked.find(StreamQuery()))
        assert asked.get(f"{JOB}:1")

    def test_a_stream_under_another_name_is_nobodys(
        self, world: World, asked: TraceQueries
    ) -> None:
        copy = world.folder.agent_stream("copy")
        copy.write_bytes(world.second.path.read_bytes())
        assert "copy" not in told(asked.find(StreamQuery(tool="apply_fix")))
        assert parsed(asked.line(f"{JOB}:1"))["agent_id"] == world.second.name
