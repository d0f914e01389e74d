"""`trace export` as its users have it: every format, into files and pipes."""

import json
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Remora, command, run_in, user_without_weights
from tests.openai_server import answer, openai_server, send_json

FORMS = ("jsonl", "otel", "sft", "functiongemma")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run in which a model was asked: without it, most exports are empty."""
    folder = tmp_path_factory.mktemp("asked")
    with openai_server(
        lambda handler, *_: send_json(handler, answer(("submit_result", {})))
    ) as server:
        remora = user_without_weights(folder / "home")
        # without a tokenizer to ask, what is sent is counted as its bytes
        limit = {"REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "20000"}
        model = {
            "REMORA_MODEL__BASE_URL": server.address,
            "REMORA_RUNNER__DECISIONS": "model",
            "REMORA_RUNNER__OPENING": "false",
        }
        asks = Remora(remora.home, {**model, **limit})
        return replace(run_in(folder, asks), remora=remora)


@pytest.fixture
def run_id(ran: Ran) -> str:
    found: str = ran.analyzed.document["run_id"]
    return found


def export(ran: Ran, *words: str | Path) -> dict[str, object]:
    done = ran("trace", "export", *map(str, words), "--json")
    assert (done.code, done.err) == (0, "")
    document: dict[str, object] = done.document
    return document


@pytest.mark.slow
def test_decisions_are_counted_by_who_decided(ran: Ran) -> None:
    for job in ran.analyzed.document["jobs"]:
        assert set(job["decided_by"]) == {"rule", "model", "fallback", "escalation"}
        assert job["decided_by"]["rule"] == 0  # there is no opening
        assert job["decided_by"]["model"] + job["decided_by"]["fallback"] >= 1
        assert job["max_packet_tokens"] > 0


@pytest.mark.slow
def test_prompts_are_those_that_the_model_was_sent(ran: Ran, agent: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    told = export(ran, agent, "--format", "sft", "-o", path)
    stream = ran.root / ".agentfs" / "traces" / f"{agent}.jsonl"
    events = [json.loads(line) for line in stream.read_text().splitlines()]
    sent = [event for event in events if event["type"] == "model_request"]
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert sent
    assert [row["prompt"] for row in rows] == [event["data"]["messages"] for event in sent]
    assert [row["line_hash"] for row in rows] == [event["hash"] for event in sent]
    assert told == {
        "format": "sft", "to": str(path), "streams": 1, "records": len(rows),
        "operations": {rows[0]["operation"]: len(rows)}, "left_out": {}, "damaged": [],
    }  # fmt: skip
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("form", FORMS)
def test_a_file_and_a_pipe_get_the_same(ran: Ran, tmp_path: Path, form: str) -> None:
    words = ("trace", "export", "--run", "last", "--format", form)
    filed, piped = ran(*words, "-o", f"{tmp_path}/out"), ran(*words)
    assert (filed.code, piped.code) == (0, 0)
    assert piped.out == (tmp_path / "out").read_text()
    if form == FORMS[0]:
        assert ran(*words, "-o", "-").out == piped.out


def test_an_agent_by_its_node_and_a_run_by_its_name(ran: Ran, agent: str, run_id: str) -> None:
    by_node = ran("trace", "export", "read", "--format", "otel").out
    assert by_node == ran("trace", "export", agent[:-3], "--format", "otel").out != ""
    run = ran("trace", "export", run_id, "--format", "otel").out
    assert run == ran("trace", "export", "--run", run_id, "--format", "otel").out
    assert run == ran("trace", "export", "--all", "--format", "otel").out
    assert "invoke_workflow" in run
    assert "invoke_workflow" not in by_node


REFUSED = {
    "--format sft": "use exactly one of AGENT, --run RUN and --all",
    "read --all --format sft": "use exactly one of AGENT, --run RUN and --all",
    "read": "--format",
    "read --format csv": "'csv' is not one of",
    "read --format sft --content": "--content requires --format otel",
    "read --format sft -o .": "is a folder",
}


def test_what_makes_no_sense_or_is_not_there_is_refused(ran: Ran) -> None:
    for line, message in REFUSED.items():
        done = ran("trace", "export", *line.split())
        assert (done.code, done.out) == (2, ""), line
        assert message in done.err
    # what goes to stdout cannot be told there too
    done = ran("trace", "export", "read", "--format", "otel", "--json")
    assert done.code == 2
    assert "write the export to a file with -o FILE" in done.error["message"]
    unknown = ran("trace", "export", "raed", "--format", "sft")
    assert (unknown.code, "nearest nodes" in unknown.err) == (1, True)
    missing = ran("trace", "export", "read", "--format", "sft", "-o", "nowhere/file")
    assert (missing.code, "nowhere" in missing.err) == (3, True)


def test_a_reader_that_has_seen_enough(ran: Ran, agent: str) -> None:
    """`| head -1` ends the export, quietly."""
    line = command(("trace", "export", agent, "--format", "otel", "--content"))
    process = subprocess.Popen(
        line, cwd=ran.root, env=ran.remora.environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(30), said) == (0, b"")
