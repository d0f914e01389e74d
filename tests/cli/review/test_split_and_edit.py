"""`remora review` hunk by hunk and in an editor: what fails its checks is refused, and asked again."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.cli.review.four_changes import Four
from tests.cli.review.terminal import ASK, DEADLINE_S, Terminal
from tests.cli.review.test_review_session import Desk
from tests.three_hunks import EDITS, FILES, LOADER, with_edits

CHOICE = r"accept \(rejects the others\), e\.g\. 1 3: "


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory: pytest.TempPathFactory) -> Four:
    return Four(tmp_path_factory.mktemp("review"), FILES, "own")


@pytest.fixture
def desk(analyzed: Four) -> Desk:
    analyzed.again()
    return Desk(analyzed.remora, analyzed.root)


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    script = tmp_path / "editor"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    return script


def chosen(terminal: Terminal, numbers: str) -> str:
    """What a split shows before these numbers are given."""
    seen = terminal.asks("s", CHOICE)
    terminal.types(numbers)
    return seen


def test_hunks_are_chosen_and_a_choice_that_breaks_verification_is_refused(desk: Desk) -> None:
    with desk.review() as terminal:
        seen = chosen(terminal, "2")
        assert "1: mod.py: load (hunk 1)" in seen
        assert "+import json" in seen
        assert "nothing was written: mod.py: taken out by ruff (load, line 5)" in terminal.sees(ASK)
        assert desk.text("mod.py") == LOADER
        assert desk.states == ["pending"]
        chosen(terminal, "2 1")
        terminal.sees("That was the last change")
        assert "1 accepted" in terminal.quits()
    assert desk.text("mod.py") == with_edits(1, 5)
    first, last = (review["data"] for review in desk.reviews)
    assert (first["verdict"], first["surface"], first["left"]) == ("accepted", "cli", [3])
    assert (last["verdict"], last["surface"], last["left"]) == ("accepted", "cli", [])
    assert first["written"] == last["written"]
    assert (last["written"]["hunks"], last["written"]["of"]) == ([1, 2], 3)
    shown = desk("show", "last").out
    assert "accepted: 2 of 3 hunks" in shown


def interrupt(terminal: Terminal) -> None:
    """Ctrl-C at a question that is answered with a line: a signal can come before it waits."""
    end = time.monotonic() + DEADLINE_S
    while terminal.process.poll() is None and time.monotonic() < end:
        os.kill(terminal.process.pid, signal.SIGINT)
        time.sleep(0.3)


def test_a_wrong_number_no_number_and_ctrl_c_at_any_question_decide_nothing(desk: Desk) -> None:
    with desk.review() as terminal:
        chosen(terminal, "1 4")
        assert "use numbers from 1 to 3" in terminal.sees(CHOICE)
        terminal.types("")
        assert "no hunk was chosen, so nothing is decided" in terminal.sees(ASK)
        terminal.quits()
    for key, question in (("s", CHOICE), ("n", "press Enter for none")):
        with desk.review() as terminal:
            terminal.asks(key, question)
            interrupt(terminal)
            code, rest = terminal.ends()
        assert (code, "1 change still pending" in rest) == (130, True)
    assert (desk.states, desk.reviews, desk.text("mod.py")) == (["pending"], [], LOADER)


@pytest.mark.slow
def test_an_edited_version_is_verified_and_written(desk: Desk, editor: Path) -> None:
    editor.write_text('#!/bin/sh\nsed -i "s/# both/# forbidden/; s/# fixed/# ok/" "$1"\n')
    with desk.review(EDITOR=str(editor)) as terminal:
        seen = terminal.asks("e")
        assert "nothing was written: mod.py: it fails nothing.pym" in seen
        assert "your edit is kept" in seen
        assert desk.text("mod.py") == LOADER
        editor.write_text('#!/bin/sh\nsed -i "s/# forbidden/# a pair/" "$1"\n')
        terminal.asks("e", "That was the last change")
        assert "1 accepted" in terminal.quits()
    assert desk.text("mod.py") == with_edits(*EDITS).replace("both", "a pair")
    (review,) = desk.reviews
    assert review["data"]["written"]["edited"] is True
    assert "accepted: edited" in desk("show", "last").out
    assert desk("revert", "last").code == 0
    assert desk.text("mod.py") == LOADER


def test_a_refused_edit_is_kept_until_it_is_taken_back(desk: Desk, editor: Path) -> None:
    editor.write_text('#!/bin/sh\nsed -i "s/# both/# forbidden/" "$1"\n')
    with desk.review(EDITOR=str(editor)) as terminal:
        assert "your edit is kept" in terminal.asks("e")
        editor.write_text("#!/bin/sh\nexit 3\n")
        seen = " ".join(terminal.asks("e").split())  # a long path wraps the line
        assert "exited with code 3" in seen
        assert "your edit is kept" in seen
        editor.write_text('#!/bin/sh\nsed -i "s/# forbidden/# both/" "$1"\n')
        assert "not edited, so nothing is decided" in terminal.asks("e")
        editor.write_text('#!/bin/sh\ngrep -q "# both" "$1" && exit 4\n')
        seen = " ".join(terminal.asks("e").split())
        assert "exited with code 4" in seen
        assert "your edit is kept" not in seen
        terminal.quits()


@pytest.mark.skipif(sys.version_info >= (3, 15), reason="this Python parses the edit")
def test_an_edit_in_newer_syntax_says_which_python_remora_needs(desk: Desk, editor: Path) -> None:
    editor.write_text('#!/bin/sh\nsed -i "s/^import json/lazy import json/" "$1"\n')
    with desk.review(EDITOR=str(editor), size=(40, 200)) as terminal:
        seen = " ".join(terminal.asks("e").split())
        assert "mod.py: line 1: syntax of Python 3.15, but Remora runs on 3." in seen
        assert "reinstall it with Python 3.15 or newer" in seen
        terminal.quits()


def test_an_editor_that_gives_nothing_decides_nothing(desk: Desk, editor: Path) -> None:
    with desk.review(EDITOR=str(editor), size=(40, 200)) as terminal:
        for script, told in (
            ("exit 3", "exited with code 3"),
            ("exit 0", "not edited, so nothing is decided"),
            (': > "$1"', "mod.py is empty, so nothing was decided"),
            ('rm "$1"', "the edited copy of mod.py cannot be read"),
            ('cat > "$1" <<"EOF"\n' + LOADER + "EOF", "the edit leaves nothing of the change"),
        ):
            editor.write_text(f"#!/bin/sh\n{script}\n")
            assert told in terminal.asks("e")
        terminal.quits()
    assert (desk.states, desk.reviews, desk.text("mod.py")) == (["pending"], [], LOADER)


def test_a_narrow_terminal_without_utf_8(desk: Desk) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with desk.review(size=(24, 40), **plain) as terminal:
        chosen(terminal, "3")
        terminal.sees("That was the last change")
        terminal.quits()
    assert desk.text("mod.py") == with_edits(7)


def test_what_another_process_decided_meanwhile_is_not_decided_twice(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.asks("s", CHOICE)
        assert desk("reject", "last", "load").code == 0
        terminal.types("1 2")
        seen = terminal.ends()[1]
    assert "no pending change (rejected)" in seen
    assert [each["data"]["verdict"] for each in desk.reviews] == ["rejected"]
    assert desk.text("mod.py") == LOADER


def test_a_file_that_is_edited_while_hunks_are_chosen_keeps_the_edit(desk: Desk) -> None:
    with desk.review() as terminal:
        terminal.asks("s", CHOICE)
        (desk.root / "mod.py").write_text(LOADER + "# mine\n")
        terminal.types("3")
        terminal.sees("That was the last change")
        terminal.quits()
    assert desk.text("mod.py") == with_edits(7) + "# mine\n"


@pytest.mark.slow
def test_hunks_can_be_accepted_without_a_terminal(desk: Desk) -> None:
    refused = desk("accept", "--untested", "last", "load", "--hunk", "2", "--json")
    assert refused.code == 1
    assert refused.document["accepted"] == []
    assert "taken out by ruff (load, line 5)" in refused.document["refused"][0]["detail"]
    assert (desk.text("mod.py"), desk.states) == (LOADER, ["pending"])
    done = desk("accept", "--untested", "last", "load", "--hunk", "1", "--hunk", "2")
    assert (done.code, desk.text("mod.py")) == (0, with_edits(1, 5))
    shown = desk("diff", "last")
    assert "# both" in shown.out
    assert "import json" not in shown.out, "only the rest is pending"
    assert "@@ hunk 3: load" in shown.out
    wrong = desk("accept", "--untested", "last", "load", "--hunk", "2")
    assert "no such hunks: 2" in wrong.err
    assert "pending: 3" in wrong.err


@pytest.mark.slow
def test_undo_asks_before_it_takes_back_what_was_accepted_before_the_review(desk: Desk) -> None:
    assert desk("accept", "--untested", "last", "load", "--hunk", "3").code == 0
    with desk.review() as terminal:
        terminal.asks("y", "That was the last change")
        terminal.asks("u", r"undoes what was accepted of it before. \[y\]es \[n\]o ")
        assert desk.text("mod.py") == with_edits(1, 5, 7)
        terminal.asks("y")
        terminal.quits()
    assert (desk.states, desk.text("mod.py")) == (["pending"], LOADER)


def test_hunks_are_those_of_one_change_set(desk: Desk) -> None:
    for words in ("--all", "load other", "load --rule F401", "load --git-branch fixes"):
        done = desk("accept", "--untested", "last", "--hunk", "1", *words.split())
        assert done.code == 2
        assert "--hunk needs exactly one NODE" in done.err


def edited_by_user(desk: Desk) -> None:
    """Change a line that the agent changed, too, and another one."""
    mine = LOADER.replace("return value, size", "return size, value")
    (desk.root / "mod.py").write_text(mine.replace("\n\n\ndef", "\n\n# mine\ndef"))


@pytest.mark.parametrize(
    ("key", "is_mine"), [("m", True), pytest.param("a", False, marks=pytest.mark.slow)]
)
def test_the_reviewer_says_whose_lines_to_take(desk: Desk, key: str, *, is_mine: bool) -> None:
    edited_by_user(desk)
    with desk.review() as terminal:
        terminal.asks("y", "you edited the same lines")
        terminal.asks(key, "That was the last change")
        terminal.quits()
    assert desk.states == ["rejected" if is_mine else "accepted"]  # its hunks need each other
    text = desk.text("mod.py")
    assert ("return size, value\n" in text) is is_mine
    assert ("return value, size  # both\n" in text) is not is_mine
    assert ("import json\n" in text) is not is_mine
    assert "# mine\n" in text


def test_the_editor_shows_both_versions_of_the_lines(desk: Desk, editor: Path) -> None:
    edited_by_user(desk)
    editor.write_text('#!/bin/sh\nsed -i "/^=====/,/^>>>>>/d; /^<<<<</d" "$1"\n')
    with desk.review(EDITOR=str(editor)) as terminal:
        terminal.asks("y", "you edited the same lines")
        terminal.asks("e", "That was the last change")
        terminal.quits()
    assert "return size, value\n" in desk.text("mod.py")
    assert "<<<<" not in desk.text("mod.py")
