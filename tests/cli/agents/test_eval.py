"""`remora eval memory`: recorded streams folded again by other settings."""

import json
from itertools import takewhile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remora.cli.agents.eval import eval_
from remora.errors import NotFound
from remora.trace.trace_folder import TraceFolder
from tests.cli.conftest import Ran
from tests.golden.test_golden import AGENTS, HERE, laid_out


@pytest.fixture
def folder(tmp_path: Path) -> TraceFolder:
    return laid_out([*AGENTS, HERE / "v1" / "run.jsonl"], tmp_path)


def evaluate(folder: TraceFolder, *words: str) -> Result:
    return CliRunner().invoke(eval_, ["memory", "--root", str(folder.root), *words])


def test_as_recorded(folder: TraceFolder) -> None:
    done = evaluate(folder, "--json")
    document = json.loads(done.stdout)
    assert done.exit_code == 0
    assert document["setting"] == {"summarizers": None, "limit": None, "renderer": None}
    assert [arm["name"] for arm in document["arms"]] == ["recorded"]
    assert document["streams"] == 5
    assert document["counters"] == ["upper-bound/1"]
    for tool in document["tools"].values():
        assert set(tool) >= {"coverage", "packet_tokens", "dropped"}


def test_settings_beside_what_was_recorded(folder: TraceFolder) -> None:
    words = ["--limit", "700", "--limit", "900", "--summarizers", "default", "--renderer", "json"]
    document = json.loads(evaluate(folder, *words, "--json").stdout)
    names = ["recorded", "default, 700 tokens, json/1", "default, 900 tokens, json/1"]
    assert [arm["name"] for arm in document["arms"]] == names
    assert document["tools"] == document["arms"][1]["tools"] != document["arms"][0]["tools"]


def test_for_people(folder: TraceFolder) -> None:
    lines = evaluate(folder, "--limit", "900").stdout.splitlines()
    arms = [
        (line, list(takewhile(str.strip, lines[at + 1 :])))
        for at, line in enumerate(lines)
        if line[-1:] == ":"
    ]
    assert [name for name, _ in arms] == ["recorded:", "900 tokens:"]
    head, *rows = [line.split() for line in arms[0][1]]
    assert head == [
        "TOOL", "CALLS", "TOKENS", "MOST", "COVERED", "BY", "MEMORY", "DROPPED", "OVER",
    ]  # fmt: skip
    assert rows[1][:4] == ["apply_fix", "2", "1000", "1028"]
    assert rows[-1][0] == "all"
    assert lines[-1] == "from 5 streams; tokens by upper-bound/1"


def test_that_nothing_was_too_large_needs_no_column(folder: TraceFolder) -> None:
    assert "  OVER" not in evaluate(folder).stdout


def test_of_one_run(folder: TraceFolder) -> None:
    some = json.loads(evaluate(folder, "--run", "golden-1", "--json").stdout)
    assert some["streams"] == 3
    assert "act" not in some["tools"]


def test_a_stream_that_is_left_out_is_named_and_needs_attention(folder: TraceFolder) -> None:
    path = next(folder.agent_streams())
    path.write_bytes(b"no event\n")
    words = ["memory", "--json", "--root", str(folder.root)]
    done = CliRunner().invoke(eval_, words, standalone_mode=False)
    assert done.return_value == 1  # what `remora` exits with
    document = json.loads(done.stdout)
    assert [entry["agent_id"] for entry in document["skipped"]] == [path.stem]
    assert document["streams"] == 4
    assert path.stem in done.stderr


def test_nothing_recorded(tmp_path: Path) -> None:
    folder = TraceFolder(tmp_path)
    folder.create()
    assert "remora analyze" in evaluate(folder).stdout
    assert json.loads(evaluate(folder, "--json").stdout)["tools"] == {}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--limit", "0"], "x>=1"),
        (["--summarizers", "all"], "'tool_side', 'tool_specific', 'default'"),
        (["--renderer", "xml"], "'lines'"),
    ],
)
def test_wrong_words(words: list[str], told: str, folder: TraceFolder) -> None:
    done = evaluate(folder, *words)
    assert done.exit_code == 2
    assert told in done.stderr


def test_an_unknown_run(folder: TraceFolder) -> None:
    assert isinstance(evaluate(folder, "--run", "golden-9").exception, NotFound)


def test_a_recorded_run_is_folded_again_by_the_program(ran: Ran) -> None:
    done = ran("eval", "memory", "--limit", "900", "--json")
    document = done.document
    assert (done.code, done.err) == (0, "")
    assert document["streams"] > 0
    assert document["skipped"] == []
    assert [arm["name"] for arm in document["arms"]] == ["recorded", "900 tokens"]
    assert "apply_fix" in document["tools"]
