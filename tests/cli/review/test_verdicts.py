"""`accept`, `reject`, `revert` and `diff`: a change of several functions, named by one."""

import re
from pathlib import Path
from typing import Any

import pytest

from remora.cli.app import entry
from remora.errors import DiskError
from remora.runs.review.accepted_changes import accept_one
from tests.cli.conftest import Done, Remora, on_terminal, tree, write

TWO = 'def load_a():\n    return f"a"\n\n\ndef load_b():\n    return f"b"\n'


class Shop:
    """A project with one pending change set, which covers two functions."""

    def __init__(self, remora: Remora, root: Path) -> None:
        self.remora, self.root = remora, root
        write(root, {"a.py": TWO, "ruff.toml": 'lint.select = ["F"]\n'})
        assert self("analyze", "-o", "lint", "--node", "load_*").code == 0

    def __call__(self, *words: str) -> Done:
        return self.remora(*words, cwd=self.root)


@pytest.fixture
def shop(poor: Remora, tmp_path: Path) -> Shop:
    (tmp_path / "shop").mkdir()
    return Shop(poor, tmp_path / "shop")


@pytest.mark.parametrize(
    ("verb", "state", "said"),
    [
        ("accept --untested", "accepted: 1 of 2 hunks · ", "accepted 1 change in part:"),
        pytest.param("reject", "", "rejected 1 change:", marks=pytest.mark.slow),
    ],
)
def test_only_the_named_functions_are_decided(shop: Shop, verb: str, state: str, said: str) -> None:
    done = shop(*verb.split(), "last", "load_a")
    assert done.err.strip() == "a.py: still pending: F541 (hunk 2)"
    assert done.out.startswith(said)
    shown = shop("show", "last", "-v").out
    assert f"{state}pending: hunk 2" in shown
    assert "F541 (hunk 2)" in shown
    (diff,) = shop("diff", "last", "--rule", "F541", "--json").document["diffs"]
    assert diff["hunks"] == [{"number": 2, "path": "a.py", "line": 6, "group": 2, "label": "F541"}]
    assert shop("accept", "--untested", "last", "load_b").err == ""
    assert 'f"b"' not in (shop.root / "a.py").read_text()


@pytest.mark.slow
def test_a_rule_decides_its_hunks_and_a_terminal_shows_them(shop: Shop) -> None:
    write(shop.root, {"a.py": "import os\n\n\n" + TWO})
    assert shop("analyze", "-o", "lint").code == 0
    seen = on_terminal(shop.remora, shop.root, "diff", "last")
    assert "hunk 1: F401" in seen
    (part,) = shop("diff", "last", "--rule", "F401", "--json").document["diffs"]
    assert [hunk["number"] for hunk in part["hunks"]] == [1]
    assert "\n-import os\n" in part["diff"]
    assert "-    return" not in part["diff"]
    assert shop("accept", "--untested", "last", "--rule", "F401").code == 0
    assert "import os" not in (shop.root / "a.py").read_text()
    assert shop("reject", "last", "--rule", "F541").code == 0
    assert (shop.root / "a.py").read_text().lstrip("\n") == TWO
    assert "accepted: 1 of 3 hunks" in shop("show", "last").out


@pytest.mark.slow
def test_what_is_tied_to_another_rule_is_said_with_the_command_that_takes_it(shop: Shop) -> None:
    tied = 'def load():\n    import re\n    return f"1"\n'
    write(shop.root, {"a.py": tied})
    assert shop("analyze", "-o", "lint").code == 0
    done = shop("accept", "--untested", "last", "--rule", "F401")
    assert (shop.root / "a.py").read_text() == tied
    assert "left in 1 file: changes of F401 that are tied to other rules" in done.err
    command = done.err.partition("`remora ")[2].partition("`")[0]
    assert command.endswith("--rule=F401 --rule=F541")
    assert shop(*command.split(), "--untested").code == 0
    assert (shop.root / "a.py").read_text() == 'def load():\n    return "1"\n'


@pytest.mark.slow
def test_a_file_without_a_change_has_the_command_that_says_why(shop: Shop) -> None:
    write(shop.root, {"a.py": "import os\n", "b.py": "def load():\n    return 1\n"})
    assert shop("analyze", "-o", "lint").code == 0
    left = shop("diff", "last", "b.py")
    assert (left.code, "has no job on 'b.py', and changes nothing there" in left.err) == (1, True)
    assert re.search(r"`remora show [\w-]+ -v` lists its functions", left.err)


def test_a_change_set_that_covers_other_functions_is_not_reverted(shop: Shop) -> None:
    assert shop("accept", "--untested", "last", "--all").code == 0
    before = tree(shop.root)
    refused = shop("revert", "last", "load_a")
    assert refused.code == 2
    assert "the lint change of a.py covers a.py:load_a, a.py:load_b" in refused.err
    assert tree(shop.root) == before
    assert shop("revert", "last", "load_a", "load_b").code == 0


def test_a_diff_leaves_out_what_was_rejected_unless_it_is_named(shop: Shop) -> None:
    rejected = shop("reject", "last", "--all", "--feedback", "no")
    assert "tries again" not in rejected.err  # rules would propose the same
    done = shop("diff", "last")
    assert done.out == ""
    assert "not shown: 1 rejected" in done.err
    assert shop("diff", "last", "--json").document["diffs"] == []
    assert '+    return "a"' in shop("diff", "last", "load_a").out


@pytest.mark.slow
def test_what_was_accepted_before_an_error_is_printed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(shop.root, {"b.py": TWO})
    assert shop("analyze", "-o", "lint").code == 0
    for name, value in shop.remora.environment.items():
        monkeypatch.setenv(name, value)
    accepted: list[str] = []

    def fails_at_second(project: Any, stream: Any, change: Any, *args: Any) -> Any:
        if accepted:
            raise DiskError("the disk is full")
        accepted.append(change.job.node_id)
        return accept_one(project, stream, change, *args)

    monkeypatch.setattr("remora.usecases.review.verdicts.accept_one", fails_at_second)
    code = entry.run(["--root", str(shop.root), "accept", "--untested", "last", "--all", "--json"])
    printed = capsys.readouterr()
    assert (code, "error: the disk is full" in printed.err) == (3, True)
    assert accepted[0] in printed.out
    assert '"code": "disk_error"' in printed.out
