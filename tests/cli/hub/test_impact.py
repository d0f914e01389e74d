"""`remora hub impact` on a real repository."""

from dataclasses import replace
from pathlib import Path

import pytest

from remora.sandbox.interpreters import ProjectPython
from remora.usecases.impact import TITLES, impact_lines
from tests.cli.conftest import Remora, git, write

SHOP = "def total(prices, digits=2):\n    return round(sum(prices), digits)\n"
TEST = "from shop import total\n\n\ndef test_total():\n    assert total([1.004]) == 1\n"
BILL = "from shop import total\n\n\ndef bill(prices):\n    return total(prices, digits=0)\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop", {"shop.py": SHOP, "bill.py": BILL, "tests/test_shop.py": TEST})
    write(root, {"README.md": "Call `total([1])`.\n", "remora.yaml": ""})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "work")
    return root


def test_a_change_is_answered_from_files_index_and_revisions(shop: Path, poor: Remora) -> None:
    write(shop, {"shop.py": SHOP.replace("digits=2", "places").replace("digits)", "places)")})
    told = poor("hub", "impact", cwd=shop)
    assert told.code == 1
    assert told.out.splitlines() == [
        "shop.py:1 total def total(prices, digits=2) → def total(prices, places)",
        "No longer fits",
        "bill.py:5 bill missing a required argument: 'places' (exact)",
        "tests/test_shop.py:5 test_total missing a required argument: 'places' (exact)",
        "Named in",
        "README.md:1 total",
        "Tests",
        "pytest tests/test_shop.py::test_total",
    ]
    answer = poor("hub", "impact", "--json", cwd=shop).document
    write(shop, {"change.diff": git(shop, "diff")})
    git(shop, "checkout", "-q", "shop.py")
    assert poor("hub", "impact", "--diff", "change.diff", "--json", cwd=shop).document == answer
    git(shop, "apply", "--index", "change.diff")
    assert poor("hub", "impact", "--staged", "--json", cwd=shop).document == answer
    git(shop, "commit", "-q", "-m", "places")
    ranged = poor("hub", "impact", "HEAD~1..HEAD", "--json", cwd=shop)
    assert (ranged.code, ranged.document) == (1, answer)


def test_a_name_that_is_right_wrong_or_no_name(shop: Path, poor: Remora) -> None:
    named = poor("hub", "impact", "total", cwd=shop)
    assert (named.code, "bill.py:5 bill (exact)" in named.out) == (0, True)
    alone = poor("hub", "impact", "bill", cwd=shop).out.splitlines()
    assert alone[1:] == ["No known callers or references", "No known tests"]
    document = poor("hub", "impact", "bill", "--json", cwd=shop).document
    document["overrides"] = [{"place": "a.py:1", "name": "a.py:Sub", "about": "bill"}]
    assert [*impact_lines(document)][1:] == [TITLES["overrides"], "a.py:1 Sub", "No known tests"]
    write(shop, {"rates.py": "RATE = 2\n\n\ndef rate():\n    return RATE\n"})
    rate = poor("hub", "impact", "rates.RATE", cwd=shop).out.splitlines()
    assert rate[:3] == ["rates.py:1 RATE", "Referred to by", "rates.py:5 rate (inferred)"]
    (shop / "rates.py").unlink()
    assert poor("hub", "impact", cwd=shop).out == "nothing that is called has changed\n"
    missing = poor("hub", "impact", "totl", cwd=shop)
    assert (missing.code, "did you mean" in missing.err) == (1, True)
    both = poor("hub", "impact", "total", "--staged", cwd=shop)
    assert (both.code, "exclude each other" in both.err) == (2, True)


def test_names_that_hide_and_files_that_are_not_read(shop: Path, poor: Remora) -> None:
    write(shop, {"a\x1b[2J\n\u202eb.py": BILL, "big.py": "x = 1\n" * 3_000_000})
    (shop / "link.py").symlink_to("bill.py")
    told = poor("hub", "impact", cwd=shop).out.splitlines()
    assert told == [
        r"a\x1b[2J\x0a\u202eb.py:4 bill",
        "No known tests",
        "Not read, and may have more: big.py",
    ]
    one = (
        "diff --git a/l.py b/l.py\nnew file mode 120000\n--- /dev/null\n+++ b/l.py\n@@ -0,0 +1 @@\n"
    )
    write(shop.parent, {"one.diff": f"{one}+/etc/passwd\n\\ No newline at end of file\n"})
    *_, last = poor("hub", "impact", "--diff", "../one.diff", cwd=shop).out.splitlines()
    assert last == "Not read, and may have more: l.py"


def test_long_answers_are_cut_to_the_budget(shop: Path, poor: Remora) -> None:
    calls = "".join(f"def f{n}(prices):\n    return total(prices)\n\n\n" for n in range(200))
    write(shop, {"many.py": f"from shop import total\n\n\n{calls}"})
    told = poor("hub", "impact", "total", "--json", cwd=shop).document
    assert told["left_out"]["callers"] > 100
    write(
        shop, {"shop.py": SHOP + "".join(f"\n\ndef g{n}():\n    return {n}\n" for n in range(200))}
    )
    assert poor("hub", "impact", "--json", cwd=shop).document["left_out"]["changed"] > 50
    wide = poor("hub", "impact", "total", "--budget", "20000", "--json", cwd=shop).document
    assert len(wide["callers"]) == 201, "a test is in the command"
    asked = poor("hub", "impact", "total", "--run", cwd=shop)
    assert (asked.code, "has no .venv" in asked.out) == (0, True)


@pytest.mark.slow
def test_the_tests_that_it_names_run_in_isolation(
    shop: Path, poor: Remora, plain_python: ProjectPython
) -> None:
    write(shop, {"shop.py": SHOP.replace("digits)", "0) + 1")})
    user = replace(poor, environ={"VIRTUAL_ENV": str(plain_python.python.parent.parent)})
    told = user("hub", "impact", "--run", "--json", cwd=shop)
    assert told.document["run"]["failed"] == ["tests/test_shop.py::test_total"]
    assert told.code == 1
    for number in range(30):
        write(
            shop, {f"tests/test_{number}.py": TEST.replace("def test_total", f"def test_{number}")}
        )
    answers = [
        user("hub", "impact", "total", "--run", f"--budget={budget}", "--json", cwd=shop).document
        for budget in (800, 2000)
    ]
    assert [len(answer["tests"]) for answer in answers] == [20, 31]
    assert [len(answer["run"]["failed"]) for answer in answers] == [31, 31]
