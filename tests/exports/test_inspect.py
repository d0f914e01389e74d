"""Inspect logs, opened by Inspect itself."""

import importlib.util
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remora.errors import StreamDamaged, UsageError
from remora.exports.export_counts import ExportCounts
from remora.exports.export_targets import export_inspect_logs
from remora.exports.formats import ExportOptions
from remora.exports.run_bundles import bundle_of_agent, bundle_of_run
from remora.trace.trace_folder import TraceFolder
from tests.exports.conftest import Attempt, Run, everything, flip, made, only

pytestmark = pytest.mark.filterwarnings("ignore")  # what a library does at import is its own affair
WISH = ExportOptions(format="inspect", version="1.2.3")


def log_of(folder: TraceFolder, path: Path, groups: Any) -> ExportCounts:
    return export_inspect_logs(folder, groups, WISH, path, several=False)


def read(path: Path) -> Any:
    from inspect_ai.log import read_eval_log

    return read_eval_log(str(path))


@pytest.fixture
def played(folder: TraceFolder) -> TraceFolder:
    run = Run(folder)
    for name, verdict in (("lint-a", "accepted"), ("lint-b", "rejected"), ("lint-c", None)):
        run.began(name)
        attempt = Attempt(folder, name)
        attempt.choose(1)
        attempt.fail()
        attempt.act({"line": 9}, by="rule", choice=0, outcome="error", error="broke")
        run.ended(name, attempt.end(verified=name != "lint-b"))
        if verdict:
            run.said(name, verdict, "too much" if verdict == "rejected" else None)
    run.close()
    return folder


def test_inspect_reads_a_run(played: TraceFolder, tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    tally = log_of(played, path, only(bundle_of_run(played, "run-1")))
    assert (tally.records, tally.streams) == (3, 3)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    log = read(path)
    assert (log.status, log.eval.task, log.eval.run_id) == ("success", "remora", "run-1")
    assert log.eval.model == "embedded/tiny"
    assert log.eval.revision.commit == "c0ffee" * 6
    assert log.eval.packages == {"remora": "1.2.3"}
    assert [sample.id for sample in log.samples] == ["lint-a", "lint-b", "lint-c"]
    scores = {score.name: score for score in log.results.scores}
    assert scores["review"].metrics["accuracy"].value == 0.5
    assert (scores["review"].scored_samples, scores["review"].unscored_samples) == (2, 1)
    assert scores["verified"].metrics["accuracy"].value == pytest.approx(2 / 3)
    assert log.stats.model_usage["embedded/tiny"].input_tokens == 600


def test_a_sample_is_the_agents_story(played: TraceFolder, tmp_path: Path) -> None:
    path = tmp_path / "one.eval"
    log_of(played, path, only(bundle_of_agent(played, "lint-b")))
    (sample,) = read(path).samples
    assert sample.input == "no findings"
    roles = [message.role for message in sample.messages]
    assert roles == [
        "system", "user", "assistant", "assistant", "tool",
        "system", "user", "assistant", "assistant", "tool",
    ]  # fmt: skip
    said, decided, result = sample.messages[2:5]
    assert (said.content, said.model) == (made(1), "embedded/tiny")
    assert decided.model is None
    assert decided.metadata["decided_by"] == "model"
    assert decided.tool_calls[0].arguments == {"line": 2}
    assert (result.tool_call_id, result.content) == (decided.tool_calls[0].id, '{"fixed":true}')
    by_rule = sample.messages[-2]
    assert by_rule.metadata["decided_by"] == "rule"
    assert sample.messages[-1].error.message == "broke"
    assert sample.scores["review"].value == "I"
    assert sample.scores["review"].explanation == "too much"
    assert sample.scores["verified"].explanation == "parses"


def test_inspect_events_are_the_streams(played: TraceFolder, tmp_path: Path) -> None:
    path = tmp_path / "one.eval"
    log_of(played, path, only(bundle_of_agent(played, "lint-a")))
    (sample,) = read(path).samples
    model, tool, bad, info, broke = sample.events
    assert [e.event for e in sample.events] == ["model", "tool", "model", "info", "tool"]
    assert [message.role for message in model.input] == ["system", "user"]
    assert model.output.completion == made(1)
    assert model.output.usage.input_tokens == 100
    assert model.config.seed == 7
    assert model.metadata["packet_sha256"]
    assert (tool.function, tool.arguments, tool.result) == ("fix", {"line": 2}, '{"fixed":true}')
    assert bad.output.completion == "no call"
    assert info.data == {"kind": "bad_call", "message": "not a call"}
    assert (broke.failed, broke.error.message) == (True, "broke")


def test_a_question_to_a_larger_model_has_its_name(folder: TraceFolder, tmp_path: Path) -> None:
    attempt = Attempt(folder, "lint-a")
    attempt.ask(model="large")
    attempt.answer("B")
    attempt.end()
    path = tmp_path / "one.eval"
    log_of(folder, path, only(bundle_of_agent(folder, "lint-a")))
    (sample,) = read(path).samples
    assert [event.model for event in sample.events if event.event == "model"] == ["remora/large"]


def test_the_golden_run(golden: TraceFolder, tmp_path: Path) -> None:
    """Of everything, one log for each run and for each agent without one, in a folder."""
    tally = export_inspect_logs(golden, everything(golden), WISH, tmp_path / "logs", several=True)
    assert tally.records == 5
    names = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert names == ["golden-1.eval", "lint-6a78d790e0ce.eval", "own-5ce5dc295fa1.eval"]
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    logs = [read(tmp_path / "logs" / name) for name in names]
    assert [len(log.samples) for log in logs] == [3, 1, 1]
    assert logs[2].samples[0].messages[0].content.startswith("<start_of_turn>developer")


def test_an_interrupted_run_is_reported(folder: TraceFolder, tmp_path: Path) -> None:
    run = Run(folder)
    run.began("lint-a")
    attempt = Attempt(folder, "lint-a")
    attempt.ask()
    attempt.writer.close()
    run.writer.close()
    log_of(folder, tmp_path / "run.eval", everything(folder))
    log = read(tmp_path / "run.eval")
    assert (log.status, log.results.completed_samples) == ("cancelled", 0)


def test_nothing_is_left_where_a_stream_is_damaged(played: TraceFolder, tmp_path: Path) -> None:
    flip(played.agent_stream("lint-a"), b"bad_call")
    path = tmp_path / "out" / "one.eval"
    path.parent.mkdir()
    path.write_text("before")
    with pytest.raises(StreamDamaged):
        log_of(played, path, only(bundle_of_agent(played, "lint-a")))
    assert [p.name for p in path.parent.iterdir()] == ["one.eval"]
    assert path.read_text() == "before"


def test_another_ending_is_refused(played: TraceFolder, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"does not end in \.eval"):
        log_of(played, tmp_path / "run.json", everything(played))


def test_without_the_package_it_says_what_to_install(
    played: TraceFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="inspect-ai") as refused:
        log_of(played, tmp_path / "run.eval", everything(played))
    assert "'.[inspect]'" in refused.value.hint


@pytest.mark.slow
def test_inspects_own_command_reads_it(played: TraceFolder, tmp_path: Path) -> None:
    log_of(played, tmp_path / "run.eval", everything(played))
    command = Path(sys.executable).with_name("inspect")
    done = subprocess.run(
        [command, "log", "dump", tmp_path / "run.eval"], capture_output=True, text=True, check=True
    )
    assert '"task": "remora"' in done.stdout
    assert '"lint-c"' in done.stdout


def test_a_run_that_was_killed_before_it_began_is_reported(
    played: TraceFolder, tmp_path: Path
) -> None:
    played.run_stream("run-0").touch()
    path = tmp_path / "run.eval"
    with pytest.raises(StreamDamaged, match="run-0 cannot be exported as an Inspect log"):
        log_of(played, path, only(bundle_of_run(played, "run-0")))
    assert list(tmp_path.glob("*.eval")) == []
    logs = tmp_path / "logs"
    tally = export_inspect_logs(played, everything(played), WISH, logs, several=True)
    assert [log.name for log in logs.iterdir()] == ["run-1.eval"]
    assert [message.split()[0] for message in tally.damaged] == ["run-0"]
