"""`accept`, `reject`, `revert` and `diff`: a change set of several functions, named by one."""

from pathlib import Path
from typing import Any

import pytest

from remora.cli.app.options import Options
from remora.cli.review import verdicts
from remora.errors import DiskError
from remora.runs.review.accept_and_reject import accept_one
from remora.usecases.review.chosen import Chosen
from tests.cli.conftest import Done, Remora, tree, write
from tests.cli.test_terminal import on_terminal

TWO = 'def load_a():\n    return f"a"\n\n\ndef load_b():\n    return f"b"\n'
ALSO = "the lint change set also covers a.py:load_b"


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


@pytest.mark.parametrize(("names", "note"), [(["load_a"], ALSO), (["load_a", "load_b"], "")])
def test_functions_that_are_not_named_are_listed_first(
    shop: Shop, names: list[str], note: str
) -> None:
    assert shop("accept", "last", *names).err.strip() == note
    assert shop("revert", "last", *names).err.strip() == note


def test_a_terminal_asks_and_no_is_the_default(shop: Shop) -> None:
    before = tree(shop.root)
    for verb in ("accept", "reject"):
        seen = on_terminal(shop.remora, shop.root, verb, "last", "load_a", code=1, typed="\n")
        assert f"{verb} the whole change set? [y/N]" in seen
    assert tree(shop.root) == before
    assert "accepted 1 change set" in on_terminal(
        shop.remora, shop.root, "accept", "last", "load_a", typed="y\n"
    )


def test_a_diff_leaves_out_what_was_rejected_unless_it_is_named(shop: Shop) -> None:
    rejected = shop("reject", "last", "load_a", "--feedback", "no")
    assert "also covers" in rejected.err
    assert "a.py` tries again with this feedback" in rejected.err
    done = shop("diff", "last")
    assert done.out == ""
    assert "not shown: 1 rejected" in done.err
    assert shop("diff", "last", "--json").document["diffs"] == []
    assert '+    return "a"' in shop("diff", "last", "load_a").out


def test_what_was_accepted_before_an_error_is_printed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(shop.root, {"b.py": TWO})
    assert shop("analyze", "-o", "lint").code == 0
    for name, value in shop.remora.environment.items():
        monkeypatch.setenv(name, value)
    accepted: list[str] = []

    def fails_at_second(project: Any, stream: Any, job: Any, *args: Any) -> Any:
        if accepted:
            raise DiskError("the disk is full")
        accepted.append(job.node_id)
        return accept_one(project, stream, job, *args)

    monkeypatch.setattr("remora.runs.review.accept_and_reject.accept_one", fails_at_second)
    options = Options(root=shop.root, json=True)
    code = verdicts.accept(options, "last", (), None, Chosen(every=True, trust_run=False))
    printed = capsys.readouterr()
    assert (code, "error: the disk is full" in printed.err) == (3, True)
    assert accepted[0] in printed.out
    assert '"code": "disk_error"' in printed.out
