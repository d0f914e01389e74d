"""`remora review` on a terminal: keys, verdicts that are recorded one by one, and going on later."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Remora, step_agent, user_without_weights, write
from tests.cli.review.four_changes import UNUSED, Four
from tests.cli.review.terminal import ASK, DEADLINE_S, Terminal


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Four:
    return Four(tmp_path_factory.mktemp("review"))


class Desk:
    """The user, with a run whose four change sets wait."""

    def __init__(self, remora: Remora, root: Path) -> None:
        self.remora, self.root = remora, root

    def __call__(self, *words: str) -> Done:
        return self.remora(*words, cwd=self.root)

    @contextmanager
    def review(
        self, *args: str, size: tuple[int, int] = (40, 100), **environ: str
    ) -> Iterator[Terminal]:
        remora = Remora(self.remora.home, environ)
        terminal = Terminal(remora, self.root, "review", *args, size=size)
        try:
            terminal.sees(ASK)
            yield terminal
        finally:
            terminal.close()

    @property
    def states(self) -> list[str]:
        return [job["review"] for job in self("show", "last", "--json").document["jobs"]]

    @property
    def reviews(self) -> list[dict[str, Any]]:
        """The events of the verdicts."""
        shown = self("trace", "export", "last", "--format", "jsonl").out
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
        seen = terminal.seen
        assert "── a.py ──" in seen
        assert "[1/4] steps a.py" in seen
        assert 'apply_fix(code="safe") by rule' in seen
        assert "-import os" in seen
        assert "[2/4] steps a.py:load" in terminal.asks("y")
        terminal.asks("n", "press Enter for none")
        terminal.types("keep it")
        assert "── b.py ──" in terminal.sees(ASK)
        terminal.asks("k")
        rest = terminal.quits()
    assert "1 accepted, 1 rejected" in rest
    assert "2 changes still pending" in rest
    assert desk.states == ["accepted", "rejected", "pending", "pending"]
    assert desk.text("a.py") == UNUSED.replace("import os\n", "")
    shown = desk("trace", "export", "last", "--format", "jsonl").out
    assert '"feedback":"keep it"' in shown


def test_keys_show_the_reasons_and_the_diff_and_ctrl_z_suspends(desk: Desk) -> None:
    with desk.review() as terminal:
        assert "run_linter() by rule" in terminal.asks("w")
        assert "-import os" in terminal.asks("d")
        assert "try again, with your feedback" in terminal.asks("?")
        terminal.asks("x")
        terminal.press("\x1a")
        assert terminal.is_stopped()
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.sees(ASK)
        assert "[2/4]" in terminal.asks("y")
        terminal.quits()
    assert desk.states == ["accepted", "pending", "pending", "pending"]


def test_a_terminal_that_goes_away_or_ctrl_c_keeps_what_was_decided(desk: Desk) -> None:
    with desk.review() as terminal:
        os.killpg(terminal.process.pid, signal.SIGHUP)
        terminal.process.wait(timeout=DEADLINE_S)
    assert desk.states == ["pending"] * 4
    with desk.review() as terminal:
        terminal.asks("y")
        terminal.press("\x03")
        code, rest = terminal.ends()
    assert code == 130
    assert "interrupted" in rest
    assert "1 accepted" in rest
    assert "3 changes still pending:" in rest
    assert desk.states == ["accepted", "pending", "pending", "pending"]


def test_a_conflict_is_reported_and_the_review_continues(desk: Desk) -> None:
    (desk.root / "a.py").write_text(UNUSED.replace("import os", "import json"))
    with desk.review() as terminal:
        shown = terminal.asks("y", "you edited the same lines")
        assert "<<<<<<< yours" in shown
        assert ">>>>>>> agent" in shown
        assert "conflict; nothing was written: a.py: was edited" in terminal.asks("k")
        terminal.quits(1)
    assert desk.states[0] == "conflict"


@pytest.mark.slow
def test_trying_again_brings_a_new_attempt(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.asks("t", "what to do differently")
        terminal.types("be careful")
        terminal.sees("the same change as before")
        terminal.sees(ASK)
        terminal.quits()
    document = desk("show", "last", "--json").document
    assert [job["attempt"] for job in document["jobs"]] == [2, 1, 1, 1]


def test_a_small_terminal_without_colours_groups_by_rule_until_its_input_ends(desk: Desk) -> None:
    with desk.review("last", "--by", "rule", size=(10, 30), NO_COLOR="1") as terminal:
        assert "── F401 ──" in terminal.seen
        terminal.press("\x04")
        code, rest = terminal.ends()
    assert code == 0
    assert "\x1b[3" not in rest


def test_review_session_fits_into_a_terminal_that_becomes_narrower(desk: Desk) -> None:
    with desk.review(size=(50, 200)) as terminal:
        terminal.resizes(24, 40)
        shown = terminal.asks("w").splitlines()[1:-1]
    assert [line for line in shown if len(line) > 40] == []
    assert any(line.endswith("…") for line in shown)


def test_a_change_set_whose_stream_was_removed_is_named(desk: Desk) -> None:
    jobs = desk("show", "last", "--json").document["jobs"]
    (desk.root / ".agentfs" / "traces" / f"{jobs[0]['agent_id']}.jsonl").unlink()
    with desk.review() as terminal:
        shown = terminal.seen
        assert f"a.py is left out: the stream of {jobs[0]['agent_id']} was removed" in shown
        assert "[1/3]" in shown
        terminal.quits(1)


@pytest.mark.parametrize("left", [0, 5])
def test_a_change_set_whose_stream_was_cut_is_named_by_all_commands(desk: Desk, left: int) -> None:
    agent = desk("show", "last", "--json").document["jobs"][0]["agent_id"]
    stream = desk.root / ".agentfs" / "traces" / f"{agent}.jsonl"
    stream.write_bytes(b"".join(stream.read_bytes().splitlines(keepends=True)[:left]))
    job = desk("show", "last", "--json").document["jobs"][0]
    differs = f"the stream of {agent} differs from its run's record"
    assert differs in job["error"]
    for command in ("show last", "diff last", "report last", "accept last --all"):
        found = desk(*command.split())
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
        seen = terminal.seen
        assert r'"""\x1b[2J\x1b]0;own\x07 \u202e 漢字."""' in seen
        assert "import m20\r\n" not in seen
        assert "import m199" not in seen
        assert "more lines: press d" in seen
        paged = terminal.asks("d")
        assert "PAGED" in paged
        assert "-    import m199" in paged
        terminal.quits()


def test_a_pipe_is_sent_to_accept_and_reject(desk: Desk) -> None:
    done = desk("review")
    assert done.code == 2
    assert "remora accept last" in done.err
    assert desk("review", "--json").error["code"] == "usage_error"


def test_undo_takes_back_what_was_accepted_rejected_or_skipped(desk: Desk) -> None:
    with desk.review() as terminal:
        assert "nothing to undo" in terminal.asks("u")
        assert "[2/4]" in terminal.asks("y")
        terminal.asks("n", "press Enter for none")
        terminal.types("no")
        assert "[3/4]" in terminal.sees(ASK)
        assert "[4/4]" in terminal.asks("k")
        for place in "321":
            assert f"[{place}/4]" in terminal.asks("u")
        rest = terminal.quits()
    assert "no verdicts" in rest
    assert desk.states == ["pending"] * 4
    assert desk.text("a.py") == UNUSED
    verdicts = [event["data"]["verdict"] for event in desk.reviews]
    assert verdicts == ["accepted", "rejected", "reopened", "reopened"]


@pytest.mark.slow
def test_all_alike_are_accepted_and_undone_together(desk: Desk) -> None:
    with desk.review() as terminal:
        assert "4 changes of steps in 2 files: F401" in terminal.asks("A", r"\[y/N\]: ")
        terminal.types("")
        terminal.sees(ASK)
        (desk.root / "b.py").write_text(UNUSED.replace("import re", "import sys"))
        terminal.press("A")
        terminal.types("y")
        assert "conflict; nothing was written: b.py" in terminal.sees("That was the last change")
        assert "[2/4]" in terminal.asks("u")
        assert "3 changes of steps in 2 files: F401" in terminal.asks("A", r"\[y/N\]: ")
        terminal.types("y")
        terminal.sees("That was the last change")
        rest = terminal.quits(1)
    assert "3 accepted, 1 conflict" in rest
    assert desk.states == ["accepted", "accepted", "accepted", "conflict"]


def test_an_edit_of_what_was_accepted_is_in_the_way_of_undo(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.asks("y")
        mine = desk.text("a.py").replace("def load", "import json\n\n\ndef load", 1)
        (desk.root / "a.py").write_text(mine.replace("\n\nimport json", "import json"))
        assert "conflict; nothing was written: a.py" in terminal.asks("u")
        terminal.quits()
    assert desk.states[0] == "accepted"


def test_what_another_process_decided_is_not_asked_again(desk: Desk) -> None:
    with desk.review() as terminal:
        assert desk("reject", "last", "a.py").code == 0
        seen = terminal.asks("y")
        assert "no pending change (rejected)" in seen
        assert "steps a.py:load" in seen
        terminal.quits()
    assert desk.states[0] == "rejected"
