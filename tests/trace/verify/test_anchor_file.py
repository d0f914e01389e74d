"""Saved anchors: printed, parsed, and compared with the streams."""

import json
import os
from datetime import UTC, datetime

import msgspec
import pytest

from remora.errors import NotFound, StreamDamaged, UsageError
from remora.memory.events import GENESIS, JobStart
from remora.trace.read.reader import read_lines
from remora.trace.retention.expired_log import ExpiredStream, log_expired
from remora.trace.trace_folder import TraceFolder, stream_id
from remora.trace.verify.anchor_file import SavedAnchor, anchor_of, parse_anchors, streams_to_anchor
from remora.trace.verify.folder_check import verify_all
from remora.trace.verify.head_hmac import Signer
from tests.trace.conftest import AGENT, NODE, RUN, Recorder, RunRecorder, play_run, rechained

SIGNER = Signer(b"a key of our own" * 2)


def taken(folder: TraceFolder, signer: Signer | None = None) -> list[SavedAnchor]:
    return [anchor_of(path, kind, signer) for kind, path in streams_to_anchor(folder, run_id=None)]


def faults(folder: TraceFolder, saved: list[SavedAnchor], signer: Signer | None = None) -> set[str]:
    report = verify_all(folder, saved=saved, signer=signer)
    return {f"{s.name} {p.line} {p.kind}" for s in report.streams for p in s.problems}


class TestTaking:
    def test_the_head_of_every_stream_runs_first(self, folder: TraceFolder) -> None:
        run, agent = play_run(folder)
        assert [anchor.line for anchor in taken(folder)] == [
            f"run {RUN} {run.writer.head.count} {run.writer.head.hash}",
            f"agent {AGENT} {agent.writer.head.count} {agent.writer.head.hash}",
        ]

    def test_a_runs_are_its_own_and_its_agents(self, folder: TraceFolder) -> None:
        play_run(folder)
        other = RunRecorder(folder, "run-2")
        other.emit(JobStart(agent_id="lint-other", operation="lint", node_id=NODE))
        Recorder(folder, "lint-other").writer.close()
        names = [(kind, stream_id(path)) for kind, path in streams_to_anchor(folder, "run-2")]
        assert names == [("run", "run-2"), ("agent", "lint-other")]
        with pytest.raises(NotFound):
            list(streams_to_anchor(folder, "run-3"))

    @pytest.mark.parametrize("tail", [b"{", b"\0" * 99])
    def test_a_torn_tail_is_left_out(self, tail: bytes, folder: TraceFolder) -> None:
        _, agent = play_run(folder)
        with agent.writer.path.open("ab") as file:
            file.write(tail)
        assert anchor_of(agent.writer.path, "agent").head == agent.writer.head

    def test_damaged_streams_are_not_anchored(self, folder: TraceFolder) -> None:
        _, agent = play_run(folder)
        lines = list(read_lines(agent.writer.path))
        lines[3] = lines[3].replace(b'"turn":1', b'"turn":2')
        agent.writer.path.write_bytes(b"".join(line + b"\n" for line in lines))
        with pytest.raises(StreamDamaged, match="line 4"):
            anchor_of(agent.writer.path, "agent")


class TestReadingBack:
    def test_lines_and_the_document_say_the_same(self, folder: TraceFolder) -> None:
        play_run(folder)
        for signer in (None, SIGNER):
            anchors = taken(folder, signer)
            text = "# kept on 1 May\n\n" + "\n".join(anchor.line for anchor in anchors)
            document = json.dumps({"anchors": [anchor.as_json() for anchor in anchors]})
            assert parse_anchors(text) == parse_anchors(document) == anchors

    @pytest.mark.parametrize(
        "line",
        [
            "agent lint-1 3",
            f"stream lint-1 3 {GENESIS}",
            f"agent ../x 3 {GENESIS}",
            f"agent lint-1 -3 {GENESIS}",
            f"agent lint-1 3 {GENESIS[:-1]}",
            f"agent lint-1 {'9' * 4000} {GENESIS}",
            f"agent lint-1 3 {GENESIS} unsigned",
            f"agent lint-1 3 {GENESIS} {GENESIS} more",
        ],
    )
    def test_what_is_not_an_anchor_is_named_by_its_line(self, line: str) -> None:
        good = f"run r 1 {GENESIS}\n"
        with pytest.raises(UsageError, match="line 2 is not an anchor"):
            parse_anchors(good + line)

    @pytest.mark.parametrize("text", ["{", '{"anchors": 7}', '{"anchors": [{"kind": "x"}]}'])
    def test_an_invalid_document(self, text: str) -> None:
        with pytest.raises(UsageError):
            parse_anchors(text)

    def test_a_document_with_an_invalid_id(self) -> None:
        anchor = {"kind": "run", "id": "../x", "count": 1, "hash": GENESIS}
        with pytest.raises(UsageError, match="anchor 1"):
            parse_anchors(json.dumps({"anchors": [anchor]}))


class TestHolding:
    def test_a_stream_that_grew_still_begins_with_what_was_anchored(
        self, folder: TraceFolder
    ) -> None:
        run = RunRecorder(folder)
        early = taken(folder)
        run.end()
        play = taken(folder)
        assert faults(folder, [*early, *play]) == set()

    def test_an_anchor_of_no_line_holds_always(self, folder: TraceFolder) -> None:
        play_run(folder)
        nothing = SavedAnchor(kind="agent", id=AGENT, count=0, hash=GENESIS)
        assert faults(folder, [nothing]) == set()

    def test_a_tail_that_was_cut_at_a_lines_end(self, folder: TraceFolder) -> None:
        run, _ = play_run(folder)
        saved = taken(folder)
        content = run.writer.path.read_bytes()
        os.truncate(run.writer.path, content.rindex(b"\n", 0, -1) + 1)
        assert faults(folder, []) == set(), "the chain alone cannot see it"
        assert faults(folder, saved) == {f"{RUN} {run.writer.head.count - 1} anchor"}

    def test_a_history_that_was_rewritten_with_right_hashes(self, folder: TraceFolder) -> None:
        run, _ = play_run(folder)
        saved = taken(folder)
        lines = list(read_lines(run.writer.path))
        lines[-1] = lines[-1].replace(b'"jobs":1', b'"jobs":9')
        run.writer.path.write_bytes(rechained(lines))
        assert faults(folder, []) == set(), "every hash in it is right"
        assert faults(folder, saved) == {f"{RUN} {len(lines)} anchor"}

    def test_a_stream_that_is_gone(self, folder: TraceFolder) -> None:
        run, agent = play_run(folder)
        saved = taken(folder)
        run.writer.path.unlink()
        agent.writer.path.unlink()
        assert faults(folder, []) == set(), "nothing is left that could miss it"
        assert faults(folder, saved) == {f"{RUN} 1 anchor", f"{AGENT} 1 anchor"}
        report = verify_all(folder, saved=saved).as_json()["streams"]
        assert [set(one) & {"run_id", "agent_id"} for one in report] == [{"run_id"}, {"agent_id"}]

    def test_a_signature_that_was_not_made_with_the_key(self, folder: TraceFolder) -> None:
        run, agent = play_run(folder)
        saved = taken(folder, SIGNER)
        assert faults(folder, saved, SIGNER) == set()
        other = Signer(b"another key " * 3)
        assert faults(folder, saved, other) == {
            f"{RUN} {run.writer.head.count} anchor",
            f"{AGENT} {agent.writer.head.count} anchor",
        }


class TestExpired:
    """Removed streams are recorded; they are reported, and are not a problem."""

    NOW = datetime(2026, 1, 2, tzinfo=UTC)

    def expire(self, folder: TraceFolder, *anchors: SavedAnchor) -> None:
        entries = [
            ExpiredStream(kind=a.kind, id=a.id, run_id=RUN, head=a.head, bytes=1, reason="old")
            for a in anchors
        ]
        log_expired(folder, entries, self.NOW)

    def test_a_run_that_went_with_its_agents(self, folder: TraceFolder) -> None:
        early = RunRecorder(folder)
        before = taken(folder)
        early.writer.close()
        run, agent = play_run(folder)
        last = taken(folder)
        self.expire(folder, *last)
        assert faults(folder, [*before, *last]) == set(), "nothing went yet"
        run.writer.path.unlink()
        agent.writer.path.unlink()
        assert faults(folder, [*before, *last]) == set()
        report = verify_all(folder, saved=[*before, *last])
        assert sorted(report.expired, key=lambda a: a.line) == sorted(
            [*before, *last], key=lambda a: a.line
        )
        assert len(report.as_json()["expired"]) == 3

    def test_an_agent_that_went_before_its_run(self, folder: TraceFolder) -> None:
        """A compaction that was killed: the run's own stream goes last."""
        _, agent = play_run(folder)
        (_, anchor) = taken(folder)
        self.expire(folder, anchor)
        agent.writer.path.unlink()
        assert faults(folder, []) == set()

    def test_a_record_of_another_end_than_was_anchored(self, folder: TraceFolder) -> None:
        run, _ = play_run(folder)
        saved = taken(folder)[:1]
        shorter = msgspec.structs.replace(saved[0], count=saved[0].count - 1)
        other = msgspec.structs.replace(saved[0], hash="0" * 64)
        for wrong in (shorter, other):
            self.expire(folder, wrong)
        run.writer.path.unlink()
        assert f"{RUN} 1 anchor" in faults(folder, saved)

    def test_a_record_that_was_changed_accounts_for_nothing(self, folder: TraceFolder) -> None:
        run, agent = play_run(folder)
        saved = taken(folder)
        self.expire(folder, *saved)
        log = folder.path / "expired.jsonl"
        log.write_bytes(log.read_bytes().replace(b'"reason":"old"', b'"reason":"odd"'))
        run.writer.path.unlink()
        agent.writer.path.unlink()
        assert faults(folder, saved) == {f"{RUN} 1 anchor", f"{AGENT} 1 anchor"}
