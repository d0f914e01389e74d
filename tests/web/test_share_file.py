"""Share files: what is in them, what is left out, and what their policy allows."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from remora.errors import NotFound, UsageError
from remora.trace.content.line_format import line_hash
from remora.web.run_pages import JobRow
from remora.web.share import share_file, stream_copy
from remora.web.share.agent_part import by_importance
from remora.web.share.share_file import share_agent, share_run
from remora.web.turn_rows import TurnRow
from tests.diagnosis.planted_failures import Planted
from tests.web.recorded import rewrite, stream_of
from tests.web.shared import lines_in, records_of, shared_agent
from tests.web.test_damage import HIDDEN, say_payloads

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def html(failed: Planted, tmp_path: Path) -> str:
    return shared_agent(failed.root, tmp_path, failed.agent_id)


def test_it_has_a_row_and_the_tabs_of_each_turn(html: str, failed: Planted) -> None:
    for turn in range(4):
        assert f'<tr id="{failed.agent_id}-row-{turn}"' in html
        for tab in ("turn", "prompt"):
            assert f'id="{failed.agent_id}-t{turn}-{tab}"' in html
    assert "The summary of check at turn 1 lost the error" in html
    assert '<p class="problem">' not in html


def test_it_opens_at_the_turn_that_failed(html: str, failed: Planted) -> None:
    assert f'id="{failed.agent_id}" data-view data-turn="2" data-tab="why"' in html
    assert re.findall(r'data-turn="(\d+)" open>', html) == ["2"]


def test_the_recorded_lines_are_in_it(html: str, failed: Planted) -> None:
    recorded = stream_of(failed.root, failed.agent_id).read_bytes()
    assert lines_in(html, failed.agent_id) == recorded
    previous = "0" * 64
    for line in recorded.splitlines():
        previous = line_hash(previous, line[:-75])
    count = len(recorded.splitlines())
    assert f'data-lines="{count}" data-head="{previous}"' in html


def test_it_names_its_anchor(html: str, failed: Planted) -> None:
    run = failed.root / ".agentfs/runs" / f"{failed.run_id}.jsonl"
    events = [json.loads(line) for line in run.read_bytes().splitlines()]
    line = next(n for n, event in enumerate(events, 1) if event["type"] == "job_end")
    head = events[line - 1]["data"]["head"]
    assert f"line {line} of the stream of the run {failed.run_id}" in html
    named = f"agent {failed.agent_id}&nbsp; head {head['count']} {head['hash']}"
    assert named in html


def test_its_policy_allows_its_own_style_and_script_only(html: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    said = unescape(policy[1])
    assert said.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in said
    assert "unsafe" not in said
    assert "img-src" not in said  # a picture could look like a badge


def test_it_refers_to_nothing_outside(html: str) -> None:
    addresses = re.findall(r"""(?:href|src|action|data)=["']?([^"'\s>]*)""", html)
    assert addresses
    assert all(each.startswith("#") for each in addresses)


def test_it_has_no_path_of_this_machine(html: str, failed: Planted, tmp_path: Path) -> None:
    lines = lines_in(html, failed.agent_id).decode()
    for text in (html, lines):
        assert str(failed.root) not in text
        assert str(tmp_path) not in text
        assert str(Path.home()) not in text


def test_a_run_has_its_jobs_its_stream_and_its_agents(failed: Planted, tmp_path: Path) -> None:
    made = share_run(records_of(failed.root, tmp_path), failed.run_id)
    assert f'<a href="#{failed.agent_id}">' in made.html
    assert "The summary of check at turn 1 lost the error" in made.html.partition("</article>")[0]
    for name, folder in ((failed.run_id, "runs"), (failed.agent_id, "traces")):
        recorded = (failed.root / ".agentfs" / folder / f"{name}.jsonl").read_bytes()
        assert lines_in(made.html, name) == recorded
    assert made.agents == 1
    assert all(report.ok for report in made.reports)


def test_a_run_says_which_agents_are_left_out(
    failed: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_file, "MOST_AGENTS", 0)
    monkeypatch.setattr(share_file, "job_rows", lambda jobs, _: [JobRow(jobs[0], "", [*jobs])])
    made = share_run(records_of(failed.root, tmp_path), failed.run_id)
    assert made.agents == 0
    assert "This file has 0 of 1 agent, failed ones first" in made.html
    assert "The summary of check" not in made.html.partition("<footer>")[2]
    assert f'href="#{failed.agent_id}"' not in made.html
    assert 'href=""' not in made.html


def test_turns_that_do_not_fit_are_left_to_their_lines(
    failed: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_file, "_RENDERED", 1)
    html = shared_agent(failed.root, tmp_path, failed.agent_id)
    assert re.findall(r'class="one-turn" id="[^"]*-t(\d+)"', html) == ["2"]
    assert "This file shows 1 of 4 turns whole" in html
    assert lines_in(html, failed.agent_id)


def test_the_turns_around_failures_come_first() -> None:
    rows = [TurnRow(turn=turn, outcome="success") for turn in range(1000)]
    rows[500].error = "refused"
    assert by_importance(rows, 700)[:7] == [700, 0, 1, 999, 500, 499, 501]
    assert sorted(by_importance(rows, 700)) == [*range(1000)]


@pytest.mark.parametrize("place", ["file", "line", "line without its blob"])
def test_secrets_are_not_in_it(place: str, failed: Planted, copied: Path, tmp_path: Path) -> None:
    """Contents of files are stored as they are, and old streams were not redacted."""
    if place == "file":
        _add_change(copied, failed.agent_id, f'token = "{SECRET}"\n'.encode())
    else:
        change = tell_secret if place == "line" else tell_secret_without_blob
        rewrite(stream_of(copied, failed.agent_id), change)
    made = share_agent(records_of(copied, tmp_path), failed.agent_id)
    lines = lines_in(made.html, failed.agent_id)
    assert SECRET not in made.html
    assert SECRET.encode() not in lines
    assert "&lt;secret:" in made.html
    assert ("withheld" in lines.decode()) == (place != "file")
    assert ("lines of the stream have a secret" in made.html) == (place != "file")


def test_a_redacted_prompt_has_no_hash(failed: Planted, copied: Path, tmp_path: Path) -> None:
    assert "SHA-256 of the bytes" in shared_agent(copied, tmp_path, failed.agent_id)

    def change(event: dict[str, Any]) -> None:
        if event["type"] == "model_request":
            event["data"]["messages"] = [{"role": "user", "content": f"use {SECRET}"}]

    rewrite(stream_of(copied, failed.agent_id), change)
    html = shared_agent(copied, tmp_path, failed.agent_id)
    assert "SHA-256 of the bytes" not in html
    assert "A secret in the request is not shown" in html


def tell_secret(event: dict[str, Any]) -> None:
    if event["type"] == "tool_result":
        event["data"]["raw_output"] = f"found {SECRET}"


def tell_secret_without_blob(event: dict[str, Any]) -> None:
    """Add a secret beside a text that is stored elsewhere and was removed."""
    if event["type"] == "tool_result":
        event["data"] |= {
            "raw_output": {"$blob": {"sha256": "0" * 64, "bytes": 1, "first": [SECRET]}},
            "error": f"found {SECRET}",
        }


def _add_change(root: Path, agent_id: str, content: bytes) -> None:
    digest = sha256(content).hexdigest()
    place = root / ".agentfs/objects" / digest[:2] / digest
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)

    def change(event: dict[str, Any]) -> None:
        if event["type"] == "tool_result":
            made = {"path": "src/price.py", "before": None, "after": digest, "mode": 0o644}
            event["data"]["changes"] = [made]

    rewrite(stream_of(root, agent_id), change)


def test_recorded_text_is_never_markup(failed: Planted, copied: Path, tmp_path: Path) -> None:
    rewrite(stream_of(copied, failed.agent_id), say_payloads)
    html = shared_agent(copied, tmp_path, failed.agent_id)
    assert "&lt;script&gt;window.hit=1" in html
    shown = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    for mark in ("<script>window", "<img", "<svg onload", "<iframe", "<b>r", "<a href=j", "-->"):
        assert mark not in shown
    assert not any(character in html for character in HIDDEN)


def test_a_damaged_stream_is_still_shared(failed: Planted, copied: Path, tmp_path: Path) -> None:
    stream = stream_of(copied, failed.agent_id)
    lines = stream.read_bytes().splitlines(keepends=True)
    lines[5] = b'{"half of":\n'
    stream.write_bytes(b"".join(lines)[:-30])
    made = share_agent(records_of(copied, tmp_path), failed.agent_id)
    (report,) = made.reports
    assert [problem.line for problem in report.problems][:1] == [6]
    assert report.problems[-1].kind == "torn_tail"
    assert "not what was recorded: line 6" in made.html
    assert "line 6 is not an event" in made.html
    assert lines_in(made.html, failed.agent_id) == stream.read_bytes()


@pytest.mark.parametrize("content", [b"", b"\n", b"\0" * 100, b"{}\n" * 3, b"no line"])
def test_a_stream_without_events_is_still_shared(
    content: bytes, failed: Planted, copied: Path, tmp_path: Path
) -> None:
    stream_of(copied, failed.agent_id).write_bytes(content)
    html = shared_agent(copied, tmp_path, failed.agent_id)
    assert lines_in(html, failed.agent_id) == content


def test_a_stream_that_is_too_large_is_refused(
    failed: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_copy, "MOST_BYTES", 100)
    with pytest.raises(UsageError, match="share file takes streams"):
        shared_agent(failed.root, tmp_path, failed.agent_id)


def test_an_unknown_agent_is_not_found(failed: Planted, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        shared_agent(failed.root, tmp_path, "nobody")
