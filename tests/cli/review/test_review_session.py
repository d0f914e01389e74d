"""`remora review` on a terminal: keys, verdicts that are recorded one by one, and going on later."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, step_agent, user_without_weights, write
from tests.cli.four_changes import UNUSED, Four
from tests.cli.review.terminal import ASK, DEADLINE_S, Terminal


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Four:
    return Four(tmp_path_factory.mktemp("review"))


class Desk:
    """The user, with a run whose four change sets wait."""

    def __init__(self, remora: Remora, root: Path) -> None:
        self.remora, self.root = remora, root

    @contextmanager
    def review(
        self, *args: str, size: tuple[int, int] = (40, 100), **environ: str
    ) -> Iterator[Terminal]:
        remora = Remora(self.remora.home, environ)
        terminal = Terminal(remora, self.root, "review", *args, size=size)
        try:
            yield terminal
        finally:
            terminal.close()

    @property
    def states(self) -> list[str]:
        jobs: list[dict[str, Any]] = self.remora("show", "last", "--json", cwd=self.root).document[
            "jobs"
        ]
        return [job["review"] for job in jobs]

    @property
    def reviews(self) -> list[dict[str, Any]]:
        """The events of the verdicts."""
        shown = self.remora("trace", "show", "last", "--raw", cwd=self.root).out
        events = [json.loads(line) for line in shown.splitlines()]
        return [event for event in events if event["type"] == "review"]

    def text(self, name: str) -> str:
        return (self.root / name).read_text()


@pytest.fixture
def desk(four: Four) -> Desk:
    four.again()
    return Desk(four.remora, four.root)


def test_each_is_shown_with_its_reasons_and_decided_by_a_key(desk: Desk) -> None:
    with desk.review() as terminal:
        seen = terminal.sees(ASK)
        assert "── a.py ──" in seen
        assert "[1/4] steps a.py" in seen
        assert 'apply_fix(code="safe") by rule' in seen
        assert "-import os" in seen
        terminal.press("y")
        assert "[2/4] steps a.py:load" in terminal.sees(ASK)
        terminal.press("n")
        terminal.sees("press Enter for none")
        terminal.types("keep it")
        assert "── b.py ──" in terminal.sees(ASK)
        terminal.press("k")
        terminal.sees(ASK)
        terminal.press("q")
        code, rest = terminal.ends()
    assert code == 0
    assert "1 accepted, 1 rejected" in rest
    assert "2 changes still pending" in rest
    assert desk.states == ["accepted", "rejected", "pending", "pending"]
    assert desk.text("a.py") == UNUSED.replace("import os\n", "")
    shown = desk.remora("trace", "show", "last", "--raw", cwd=desk.root).out
    assert '"feedback":"keep it"' in shown


def test_keys_show_the_packet_and_the_reasons(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.sees(ASK)
        terminal.press("p")
        assert "goal: Remove the lint findings of a.py" in terminal.sees(ASK)
        terminal.press("w")
        assert "run_linter() by rule" in terminal.sees(ASK)
        terminal.press("d")
        assert "-import os" in terminal.sees(ASK)
        terminal.press("?")
        assert "try again, with your feedback" in terminal.sees(ASK)
        terminal.press("x")
        terminal.sees(ASK)
        terminal.press("q")
        assert terminal.ends()[0] == 0
    assert desk.states == ["pending"] * 4


def test_ctrl_c_keeps_what_was_decided(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.sees(ASK)
        terminal.press("y")
        terminal.sees(ASK)
        terminal.press("\x03")
        code, rest = terminal.ends()
    assert code == 130
    assert "interrupted" in rest
    assert "1 accepted" in rest
    assert "3 changes still pending:" in rest
    assert desk.states == ["accepted", "pending", "pending", "pending"]


def test_a_terminal_that_goes_away_leaves_nothing_behind(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.sees(ASK)
        os.killpg(terminal.process.pid, signal.SIGHUP)
        terminal.process.wait(timeout=DEADLINE_S)
    assert desk.states == ["pending"] * 4


def test_a_conflict_is_reported_and_the_review_continues(desk: Desk) -> None:
    (desk.root / "a.py").write_text(UNUSED.replace("import os", "import json"))
    with desk.review() as terminal:
        terminal.sees(ASK)
        terminal.press("y")
        shown = terminal.sees("you edited the same lines")
        assert "<<<<<<< yours" in shown
        assert ">>>>>>> agent" in shown
        terminal.press("k")
        assert "conflict; nothing was written: a.py: was edited" in terminal.sees(ASK)
        terminal.press("q")
        assert terminal.ends()[0] == 1
    assert desk.states[0] == "conflict"


@pytest.mark.slow
def test_trying_again_brings_a_new_attempt(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.sees(ASK)
        terminal.press("t")
        terminal.sees("what to do differently")
        terminal.types("be careful")
        terminal.sees("the same change as before")
        terminal.sees(ASK)
        terminal.press("q")
        assert terminal.ends()[0] == 0
    document = desk.remora("show", "last", "--json", cwd=desk.root).document
    assert [job["attempt"] for job in document["jobs"]] == [2, 1, 1, 1]


def test_a_small_terminal_without_colours_groups_by_rule_until_its_input_ends(desk: Desk) -> None:
    with desk.review("last", "--by", "rule", size=(10, 30), NO_COLOR="1") as terminal:
        assert "── F401 ──" in terminal.sees(ASK)
        terminal.press("\x04")
        code, rest = terminal.ends()
    assert code == 0
    assert "\x1b[3" not in rest


def test_ctrl_z_suspends_and_it_continues_where_it_was(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.sees(ASK)
        terminal.press("\x1a")
        assert terminal.is_stopped()
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.sees(ASK)
        terminal.press("y")
        assert "[2/4]" in terminal.sees(ASK)
        terminal.press("q")
        assert terminal.ends()[0] == 0
    assert desk.states == ["accepted", "pending", "pending", "pending"]


def test_review_session_fits_into_a_terminal_that_becomes_narrower(desk: Desk) -> None:
    with desk.review(size=(50, 200)) as terminal:
        terminal.sees(ASK)
        terminal.resizes(24, 40)
        terminal.press("w")
        shown = terminal.sees(ASK).splitlines()[1:-1]
    assert [line for line in shown if len(line) > 40] == []
    assert any(line.endswith("…") for line in shown)


def test_a_change_set_whose_stream_was_removed_is_named(desk: Desk) -> None:
    jobs = desk.remora("show", "last", "--json", cwd=desk.root).document["jobs"]
    (desk.root / ".agentfs" / "traces" / f"{jobs[0]['agent_id']}.jsonl").unlink()
    with desk.review() as terminal:
        shown = terminal.sees(ASK)
        assert f"a.py is left out: the stream of {jobs[0]['agent_id']} was removed" in shown
        assert "[1/3]" in shown
        terminal.press("q")
        assert terminal.ends()[0] == 1


@pytest.mark.parametrize("left", [0, 5])
def test_a_change_set_whose_stream_was_cut_is_named_by_all_commands(desk: Desk, left: int) -> None:
    agent = desk.remora("show", "last", "--json", cwd=desk.root).document["jobs"][0]["agent_id"]
    stream = desk.root / ".agentfs" / "traces" / f"{agent}.jsonl"
    stream.write_bytes(b"".join(stream.read_bytes().splitlines(keepends=True)[:left]))
    job = desk.remora("show", "last", "--json", cwd=desk.root).document["jobs"][0]
    differs = f"the stream of {agent} differs from its run's record"
    assert differs in job["error"]
    for command in ("show last", "diff last", "report last", "accept last --all"):
        found = desk.remora(*command.split(), cwd=desk.root)
        assert differs in found.out + found.err, command


@pytest.fixture
def strange(tmp_path: Path) -> Desk:
    """One change set of a file that would rather not be looked at."""
    many = "".join(f"    import m{n}\n" for n in range(200))
    text = f'def f():\n    """\x1b[2J\x1b]0;own\x07 \u202e 漢字."""\n{many}    return 1\n'
    settings = "[tool.ruff.lint]\nselect=['F']\n"
    files = {"a.py": text, "pyproject.toml": settings, **step_agent()}
    root = write(tmp_path / "project", files)
    remora = user_without_weights(tmp_path / "home")
    assert remora("analyze", "-o", "steps", "--json", cwd=root).code == 0
    return Desk(remora, root)


@pytest.mark.slow
def test_a_long_diff_is_escaped_and_cut_and_a_key_shows_all_of_it_in_a_pager(strange: Desk) -> None:
    pager = strange.root.parent / "pager"
    pager.write_text("#!/bin/sh\necho PAGED; exec cat\n")
    pager.chmod(0o755)
    with strange.review(size=(24, 80), PAGER=str(pager)) as terminal:
        seen = terminal.sees(ASK)
        assert r'"""\x1b[2J\x1b]0;own\x07 \u202e 漢字."""' in seen
        assert "import m20\r\n" not in seen
        assert "import m199" not in seen
        assert "more lines: press d" in seen
        terminal.press("d")
        paged = terminal.sees(ASK)
        assert "PAGED" in paged
        assert "-    import m199" in paged
        terminal.press("q")
        assert terminal.ends()[0] == 0


def test_a_pipe_is_sent_to_accept_and_reject(desk: Desk) -> None:
    done = desk.remora("review", cwd=desk.root)
    assert done.code == 2
    assert "remora accept last" in done.err
    assert desk.remora("review", "--json", cwd=desk.root).error["code"] == "usage_error"


def test_undo_takes_back_what_was_accepted_rejected_or_skipped(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.sees(ASK)
        terminal.press("u")
        assert "nothing to undo" in terminal.sees(ASK)
        terminal.press("y")
        assert "[2/4]" in terminal.sees(ASK)
        terminal.press("n")
        terminal.sees("press Enter for none")
        terminal.types("no")
        assert "[3/4]" in terminal.sees(ASK)
        terminal.press("k")
        assert "[4/4]" in terminal.sees(ASK)
        for place in "321":
            terminal.press("u")
            assert f"[{place}/4]" in terminal.sees(ASK)
        terminal.press("q")
        code, rest = terminal.ends()
    assert code == 0
    assert "no verdicts" in rest
    assert desk.states == ["pending"] * 4
    assert desk.text("a.py") == UNUSED
    verdicts = [event["data"]["verdict"] for event in desk.reviews]
    assert verdicts == ["accepted", "rejected", "reopened", "reopened"]


@pytest.mark.slow
def test_all_alike_are_accepted_and_undone_together(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.sees(ASK)
        terminal.press("A")
        assert "4 changes of steps in 2 files: F401" in terminal.sees(r"\[y/N\]: ")
        terminal.types("")
        terminal.sees(ASK)
        (desk.root / "b.py").write_text(UNUSED.replace("import re", "import sys"))
        terminal.press("A")
        terminal.types("y")
        assert "conflict; nothing was written: b.py" in terminal.sees("That was the last change")
        terminal.press("u")
        assert "[2/4]" in terminal.sees(ASK)
        terminal.press("A")
        assert "3 changes of steps in 2 files: F401" in terminal.sees(r"\[y/N\]: ")
        terminal.types("y")
        terminal.sees("That was the last change")
        terminal.press("q")
        code, rest = terminal.ends()
    assert code == 1
    assert "3 accepted, 1 conflict" in rest
    assert desk.states == ["accepted", "accepted", "accepted", "conflict"]


def test_an_edit_of_what_was_accepted_is_in_the_way_of_undo(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.sees(ASK)
        terminal.press("y")
        terminal.sees(ASK)
        mine = desk.text("a.py").replace("def load", "import json\n\n\ndef load", 1)
        (desk.root / "a.py").write_text(mine.replace("\n\nimport json", "import json"))
        terminal.press("u")
        assert "conflict; nothing was written: a.py" in terminal.sees(ASK)
        terminal.press("q")
        assert terminal.ends()[0] == 0
    assert desk.states[0] == "accepted"


def test_what_another_process_decided_is_not_asked_again(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.sees(ASK)
        assert desk.remora("reject", "last", "a.py", cwd=desk.root).code == 0
        terminal.press("y")
        seen = terminal.sees(ASK)
        assert "no pending change (rejected)" in seen
        assert "steps a.py:load" in seen
        terminal.press("q")
        assert terminal.ends()[0] == 0
    assert desk.states[0] == "rejected"
