"""`check --baseline` fails only for new problems, and knows the others after edits and renames."""

import json
import os
import shutil
from pathlib import Path

import pytest

import remora as library
from tests.cli.conftest import Remora, new_repository, user_without_weights, write
from tests.cli.run.test_check import RULES, UNFIXABLE, UNUSED, WRONG

BASELINE = "known.jsonl"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose problems are all in its baseline."""
    folder = tmp_path_factory.mktemp("known")
    root = write(folder / "shop", {"a.py": UNUSED, "b.py": WRONG, "pyproject.toml": RULES})
    new_repository(root)
    user = user_without_weights(folder / "home")
    done = user("check", "--baseline", BASELINE, "--update-baseline", cwd=root)
    assert (done.code, done.out) == (0, "no new problems in 2 files\n")
    assert "has 2 known problems now" in done.err
    return root


@pytest.fixture
def shop(known: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(known, tmp_path / "shop"))


def test_the_file_is_small_and_sorted_and_has_no_lines(known: Path) -> None:
    lines = (known / BASELINE).read_text().splitlines()
    nodes = [json.loads(line)[0] for line in lines]
    assert nodes == ["node:a.py:__module__", "node:b.py:scale"]
    assert max(map(len, lines)) < 120
    assert lines == sorted(lines)


@pytest.mark.slow
def test_only_a_new_problem_fails(shop: Path, poor: Remora) -> None:
    before = (shop / BASELINE).read_bytes()
    known = poor("check", "--baseline", BASELINE, cwd=shop)
    assert (known.code, known.out) == (0, "no new problems in 2 files\n")
    write(shop, {"a.py": f"import re\n{UNUSED}"})
    done = poor("check", "--baseline", BASELINE, "--diff", cwd=shop)
    assert done.code == 1
    assert done.out.splitlines()[0] == "a.py:1: lint F401: `re` imported but unused"
    assert "1 new problem in 1 file; unless your tests object, this fixes all of them:" in done.out
    assert "scale_factor" not in done.out  # not even in the diffs
    document = poor("check", "--baseline", BASELINE, "--json", cwd=shop).document
    totals = {"problems": 1, "fixable": 1, "nodes": 4, "jobs": 2}
    assert document["totals"] == {**totals, "unreadable": []}
    assert [change["path"] for change in document["changes"]] == ["a.py"]
    sarif = poor("check", "--baseline", BASELINE, "--format", "sarif", cwd=shop).document
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]] == ["remora/lint/F401"]
    found = library.check(root=shop, baseline=shop / BASELINE)
    assert [problem.message for problem in found.problems] == ["`re` imported but unused"]
    update = ("check", "--baseline", BASELINE, "--update-baseline")
    assert poor(*update, "--max-time", "0.001", cwd=shop).code == 130
    assert (shop / BASELINE).read_bytes() == before, "a check that was stopped keeps it"


def test_known_problems_of_a_file_with_a_new_one_are_in_no_report(shop: Path, poor: Remora) -> None:
    write(shop, {"b.py": f"import re\n\n{WRONG}"})
    done = poor("check", "--baseline", BASELINE, "--reports", "out", "--json", cwd=shop)
    changes = done.document["changes"]
    assert [(each["operation"], each["path"]) for each in changes] == [("lint", "b.py")]
    reports = [file.read_text() for file in (shop / "out").iterdir()]
    assert len(reports) == 4
    assert all("import re" in text or "F401" in text for text in reports)
    assert not any("scale_factor" in text.replace(" :param scale_factor", "") for text in reports)


@pytest.mark.slow
def test_lines_renames_and_moves_do_not_make_a_problem_new(shop: Path, poor: Remora) -> None:
    moved = WRONG.replace("def scale", "def resize").replace("Scale a value", "Size a value")
    write(shop, {"c.py": f'"""Sizes."""\n\nLIMIT = 3\n\n\n{moved}', "a.py": f"\n\n{UNUSED}"})
    (shop / "b.py").unlink()
    done = poor("check", "--baseline", BASELINE, cwd=shop)
    assert (done.code, done.out.splitlines()[0]) == (0, "no new problems in 2 files")
    before = (shop / BASELINE).read_text()
    assert poor("check", "--baseline", BASELINE, "--update-baseline", cwd=shop).code == 0
    assert "node:c.py:resize" in (shop / BASELINE).read_text() != before


def test_what_is_solved_is_forgotten_on_request(shop: Path, poor: Remora) -> None:
    write(shop, {"a.py": UNUSED.replace("import os\n", "")})
    done = poor("check", "--baseline", BASELINE, cwd=shop)
    assert (done.code, "1 known problem left out" in done.err) == (0, True)
    assert "a.py" in (shop / BASELINE).read_text()
    poor("check", "--baseline", BASELINE, "--update-baseline", cwd=shop)
    assert "a.py" not in (shop / BASELINE).read_text()


@pytest.mark.slow
def test_a_check_of_one_file_reads_the_same_baseline(shop: Path, poor: Remora) -> None:
    write(shop, {"a.py": f"import re\n{UNUSED}", "c.py": WRONG.replace("def scale", "def resize")})
    done = poor("check", "a.py", "--baseline", BASELINE, cwd=shop)
    assert "1 new problem in 1 file" in done.out
    only_changed = poor("check", "--baseline", BASELINE, "--changed", cwd=shop)
    assert "2 new problems in 2 files" in only_changed.out  # c.py has a copy of what is in b.py
    for part in ("a.py", "--changed"):
        update = poor("check", "--baseline", BASELINE, "--update-baseline", part, cwd=shop)
        assert (update.code, "checks the whole project" in update.err) == (2, True)


def test_the_given_baseline_is_named_where_new_problems_can_be_accepted(
    shop: Path, poor: Remora
) -> None:
    write(shop, {"c.py": UNFIXABLE.replace("def scale", "def resize")})
    done = poor("check", "--baseline", BASELINE, cwd=shop)
    assert (done.code, done.out.partition(" ")[0]) == (1, "c.py:6:")
    assert f"`--baseline {BASELINE} --update-baseline` accepts it as known" in done.out.splitlines()


@pytest.mark.slow
def test_bad_baselines_are_named(shop: Path, poor: Remora) -> None:
    missing = poor("check", "--baseline", "gone.jsonl", cwd=shop)
    assert (missing.code, "--update-baseline writes it" in missing.err) == (2, True)
    alone = poor("check", "--update-baseline", cwd=shop)
    assert (alone.code, "--update-baseline needs --baseline FILE" in alone.err) == (2, True)
    merged = (shop / BASELINE).read_text().replace("\n", "\n<<<<<<< ours\n", 1)
    (shop / BASELINE).write_text(merged)
    for more in ((), ("--update-baseline",)):
        done = poor("check", "--baseline", BASELINE, *more, cwd=shop)
        assert (done.code, "known.jsonl:2: " in done.err) == (2, True)
    assert (shop / BASELINE).read_text() == merged
    (shop / "circle").symlink_to("circle")
    circle = poor("check", "--baseline", "circle", "--update-baseline", cwd=shop)
    assert (circle.code, "circle" in circle.err) == (3, True)
    folder = poor("check", "--baseline", "missing/known.jsonl", "--update-baseline", cwd=shop)
    assert (folder.code, "missing/known.jsonl" in folder.err) == (3, True)


@pytest.mark.parametrize("kind", ["pipe", "huge file"])
def test_what_is_no_file_of_a_sensible_size_is_not_read(
    shop: Path, poor: Remora, kind: str
) -> None:
    (shop / BASELINE).unlink()
    if kind == "pipe":
        os.mkfifo(shop / BASELINE)
    else:
        with (shop / BASELINE).open("wb") as file:
            file.truncate(4 << 30)
    said = "not a regular file" if kind == "pipe" else "4,096.0 MiB, larger than 64 MiB"
    done = poor("check", "--baseline", BASELINE, cwd=shop)
    assert (done.code, said in done.err) == (2, True), done.err
