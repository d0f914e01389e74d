"""Verdicts on a sweep: by repository, by rule, and by owner."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, git, write
from tests.cli.review.terminal import ASK, Terminal
from tests.cli.sweep.test_sweep import LINT, UNUSED, repository

FORMATTED = 'NAME = f"plain"\n'
REPOS = "repos.yaml"


@pytest.fixture
def swept(remora: Remora, tmp_path: Path) -> Path:
    """Two repositories with one change set of each rule. Of `b.py`, only `shop` knows the owner."""
    owners = {".github/CODEOWNERS": "*  @all\nb.py  @team/b  @boss\n"}
    repository(tmp_path / "shop", **{"b.py": FORMATTED, **owners})
    repository(tmp_path / "web", **{"b.py": FORMATTED})
    write(tmp_path, {"repos.yaml": "repositories: [shop, web]\n"})
    assert remora(*LINT, cwd=tmp_path).code == 0
    return tmp_path


def pending(remora: Remora, folder: Path) -> dict[str, int]:
    return each(remora("sweep", "show", REPOS, "--json", cwd=folder).document, "pending")


def each(document: dict[str, Any], key: str) -> dict[str, Any]:
    return {one["name"]: one[key] for one in document["repositories"]}


@contextmanager
def review(remora: Remora, folder: Path, *args: str) -> Iterator[Terminal]:
    terminal = Terminal(remora, folder, "sweep", "review", REPOS, *args, size=(40, 100))
    try:
        yield terminal
    finally:
        terminal.close()


@pytest.mark.slow
def test_changes_of_an_owner_are_accepted_and_reverted(remora: Remora, swept: Path) -> None:
    done = remora("sweep", "accept", REPOS, "last", "--owner", "@team/b", "--json", cwd=swept)
    assert done.code == 0
    assert "shop: a.py: skipped because a.py belongs to @all\n" in done.err
    assert each(done.document, "accepted") == {"shop": ["node:b.py:__module__"], "web": []}
    assert (swept / "shop" / "b.py").read_text() == 'NAME = "plain"\n'
    assert (swept / "shop" / "a.py").read_text() == UNUSED
    assert pending(remora, swept) == {"shop": 1, "web": 2}

    undone = remora("sweep", "revert", REPOS, "last", "--json", cwd=swept)
    assert each(undone.document, "reverted") == {"shop": ["node:b.py:__module__"], "web": []}
    assert (swept / "shop" / "b.py").read_text() == FORMATTED


@pytest.mark.slow
def test_a_conflict_says_how_to_redo_the_change(remora: Remora, swept: Path) -> None:
    write(swept / "shop", {"b.py": 'NAME = f"edited"\n'})
    done = remora("sweep", "accept", REPOS, "last", "--all", cwd=swept)
    assert done.code == 1
    assert (
        "shop: accepted 1 change\n  1 conflict, whose lines are not written:\n    b.py\n"
        in done.out
    )
    assert f"or: remora analyze -o lint --node 'b.py:*' --root {swept}/shop\n" in done.out
    assert "web: accepted 2 changes\n" in done.out


@pytest.mark.slow
def test_a_rule_is_rejected_everywhere(remora: Remora, swept: Path) -> None:
    diffs = remora("sweep", "diff", REPOS, "last", "--json", cwd=swept).document["repositories"]
    assert [len(one["diffs"]) for one in diffs] == [2, 2]
    done = remora(
        "sweep", "reject", REPOS, "last", "--rule", "F401", "--feedback", "kept", cwd=swept
    )
    assert done.out == "shop: rejected 1 change\nweb: rejected 1 change\n"
    assert pending(remora, swept) == {"shop": 1, "web": 1}
    assert '"rejected": 2,' in remora("sweep", "list", REPOS, "--json", cwd=swept).out
    assert "  PENDING  REJECTED\n" in remora("sweep", "show", REPOS, cwd=swept).out
    shown = remora("sweep", "diff", REPOS, "last", cwd=swept)
    assert (shown.out.count("-NAME = f"), shown.out.count("-import os")) == (2, 0)


@pytest.mark.slow
def test_a_file_of_diffs_names_the_repositories_and_can_be_applied(
    remora: Remora, swept: Path
) -> None:
    shown = remora("sweep", "diff", REPOS, "last", cwd=swept).out
    _, *parts = re.split(r"(?m)^(?=repository )", shown)
    assert [part.split()[1] for part in parts] == ["shop", "web"]
    write(swept, {"shop.diff": parts[0]})
    assert f"repository shop in {swept}/shop:\n" in parts[0]
    git(swept / "shop", "apply", "../shop.diff")
    assert (swept / "shop" / "b.py").read_text() == 'NAME = "plain"\n'


@pytest.mark.slow
def test_a_record_of_an_agent_that_cannot_be_read_is_a_failure(remora: Remora, swept: Path) -> None:
    damaged, _ = sorted((swept / "shop" / ".agentfs" / "traces").glob("*.jsonl"))
    lines = damaged.read_bytes().splitlines(keepends=True)
    damaged.write_bytes(b"".join([lines[0], b"damaged\n", *lines[2:]]))

    commands = ("diff last", "report", "reject last --rule F811", "accept last --all")
    for words in map(str.split, commands):
        done = remora("sweep", words[0], REPOS, *words[1:], cwd=swept)
        assert done.code == 1, words
        assert "shop: " in done.out + done.err
        assert damaged.stem in done.out + done.err, (words, done.out, done.err)
    assert pending(remora, swept) == {"shop": 1, "web": 0}  # read from the streams of runs


@pytest.mark.slow
def test_a_review_shows_one_repository_after_the_other(remora: Remora, swept: Path) -> None:
    with review(remora, swept, "--by", "rule") as terminal:
        shown = terminal.sees(ASK)
        assert "══ shop: 2 changes ══" in shown
        assert "── F401 ──" in shown
        assert "[1/2]" in shown
        terminal.press("y")
        assert "── F541 ──" in terminal.sees(ASK)
        terminal.press("y")
        shown = terminal.sees(ASK)
        assert "══ web: 2 changes ══" in shown
        assert "[1/2]" in shown
        terminal.press("u")  # the last verdict is of the repository before
        shown = terminal.sees(ASK)
        assert "══ shop: 1 change ══" in shown
        assert "[2/2]" in shown
        terminal.press("k")
        assert "══ web: 2 changes ══" in terminal.sees(ASK)
        terminal.press("q")
        code, rest = terminal.ends()
    assert code == 0
    assert "1 accepted" in rest
    assert "3 changes still pending" in rest
    assert "remora sweep review repos.yaml" in rest
    assert pending(remora, swept) == {"shop": 1, "web": 2}


@pytest.mark.slow
def test_a_review_of_an_owner_shows_nothing_else(remora: Remora, swept: Path) -> None:
    with review(remora, swept, "--by", "owner", "--owner", "@boss") as terminal:
        assert "── @boss @team/b ──" in terminal.sees(ASK)
        terminal.press("n")
        terminal.types("no")
        terminal.sees("That was the last change")
        terminal.press("q")
        code, rest = terminal.ends()
    assert (code, "1 rejected" in rest, "pending" in rest) == (0, True, False)
    assert pending(remora, swept) == {"shop": 1, "web": 2}
