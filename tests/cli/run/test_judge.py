"""`remora judge`: a change is judged, and nothing of the project is changed."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from remora.judges.judged_change import ChangedFile
from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Remora, git, new_repository, write

SHOP = '''\
def discount(total):
    """Return the price after the discount.

    Args:
        total: The price before.
    """
    if total > 50:
        return total * 0.9
    return total
'''
TESTS = """\
from shop import discount


def test_small_prices_stay():
    assert discount(10) == 10
"""
HOLLOW = """

def test_large_prices():
    found = discount(200)
    assert discount(10) == 10 or found == found or True
"""
BY_HELPER = """

def test_a_helper_asserts():
    from helpers import expect_saved

    discount(200)
    expect_saved(20)
"""
NEW = SHOP.replace("def discount(total)", "def discount(amount)").replace("total >", "amount >")
NEW = NEW.replace("return total", "return amount")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    files = {"shop.py": SHOP, "tests/test_shop.py": TESTS, "pyproject.toml": ""}
    root = write(tmp_path / "shop", files)
    return new_repository(root)


@pytest.fixture
def unchanged(shop: Path) -> Iterator[None]:
    """After the test, git's state is what it was."""
    yield
    assert git(shop, "for-each-ref", "refs/remora") == ""
    assert not (shop / ".agentfs").exists()


def test_a_finding_that_was_there_elsewhere_is_shown_where_it_is_new(
    shop: Path, poor: Remora
) -> None:
    more = f"{TESTS}\n\ndef more(): ...\n"
    write(shop, {"ruff.toml": "lint.select = ['D103']\n", "tests/test_shop.py": more})
    (problem,) = poor("judge", "--static", "--json", cwd=shop).document["problems"]
    assert (problem["code"], problem["line"]) == ("ruff", 8)


def test_a_function_has_changed_if_a_row_is_gone_but_not_if_it_has_moved() -> None:
    rows = "@given(\n  1,\n  2)\ndef a(n): ...\n"
    before, after = f"def b(): ...\n{rows}", f"{rows}def b(): ...\n".replace("  2", "")
    file = ChangedFile(path="a.py", before=before.encode(), after=after.encode())
    assert [node.qualname for node in file.changed_functions] == ["a"]


@pytest.mark.usefixtures("unchanged")
def test_the_static_half_needs_no_environment(shop: Path, poor: Remora) -> None:
    write(shop, {"shop.py": NEW, "tests/test_shop.py": TESTS + HOLLOW + BY_HELPER})
    done = poor("judge", "--static", cwd=shop)
    assert done.code == 1
    assert done.out.splitlines() == [
        "shop.py:5: docstring renamed-parameter: discount: parameter `total` is documented but does not exist; the "
        "signature has `amount`",
        "tests/test_shop.py:10: test: test_large_prices: `discount(10) == 10 or discount(200) == "
        "discount(200) or True` is true whatever the code does",
        "2 remarks on 2 changed Python files",
    ]


def test_a_call_that_no_longer_fits_is_a_remark(shop: Path, poor: Remora) -> None:
    bill = "from shop import discount\n\nprint(discount(3), discount(total=3))\n"
    write(shop, {"shop.py": NEW, "bill.py": bill})
    first, *_ = poor("judge", "--static", cwd=shop).out.splitlines()
    assert first.startswith("bill.py:3: impact: no longer fits `discount`: ")


def test_a_change_of_nothing_is_told_so(shop: Path, poor: Remora) -> None:
    write(shop, {"README.md": "# Shop\n"})
    assert poor("judge", "--static", cwd=shop).out == "no Python file is changed\n"
    write(shop, {"shop.py": SHOP + "\n\nX = 1\n"})
    done = poor("judge", "--static", cwd=shop)
    assert (done.code, done.out) == (0, "no remarks on 1 changed Python file\n")


@pytest.mark.slow
def test_the_type_checker_keeps_its_cache_for_the_next_change(shop: Path, poor: Remora) -> None:
    """The first change waits until mypy is done, so that it has a second for the others."""
    write(
        shop, {"pyproject.toml": "[tool.mypy]\n", "till.py": "def total() -> int:\n    return 1\n"}
    )
    git(shop, "add", "-A")
    git(shop, "commit", "-q", "-m", "types")
    for text, code in ((" + 1", []), (" + ''", ["mypy"])):
        write(shop, {"till.py": f"def total() -> int:\n    return 1{text}\n"})
        found = poor("judge", "--static", "--json", cwd=shop).document
        assert [problem["code"] for problem in found["problems"]] == code
        kept = {
            path.name.partition("-")[0]
            for path in (poor.home / "cache").glob("remora/roots/*/judge/*")
        }
        assert kept == {"before", "after"}


def test_without_an_environment_it_says_what_it_could_not_judge(shop: Path, poor: Remora) -> None:
    for added, code in ((HOLLOW, 1), ("\n\nX = 1\n", 4)):
        write(shop, {"tests/test_shop.py": TESTS + added})
        done = poor("judge", cwd=shop)
        assert done.code == code
        said = f"tests not judged: {shop} has no .venv, and no environment is active"
        assert said in done.out
        assert "`python3 -m venv .venv && .venv/bin/pip install -e . pytest`" in done.out
        assert "not judged: what needs code to run" in done.err
    assert poor("judge", "--static", cwd=shop).code == 0
    assert poor("judge", "--json", cwd=shop).document["untested"]


@pytest.mark.parametrize(
    "words", [("--staged",), ("HEAD",), ("HEAD~1..HEAD",), ("--diff", "../one.diff")]
)
def test_each_way_to_name_a_change(shop: Path, poor: Remora, words: tuple[str, ...]) -> None:
    """What is not part of the change is not judged."""
    write(shop, {"tests/test_shop.py": TESTS + HOLLOW})
    diff = git(shop, "diff")
    if words == ("--staged",):
        git(shop, "add", "-A")
        write(shop, {"tests/test_shop.py": TESTS})
    elif words[0] == "HEAD~1..HEAD":
        git(shop, "commit", "-q", "-a", "-m", "more")
        write(shop, {"shop.py": NEW})
    elif words[0] == "--diff":
        write(shop, {"tests/test_shop.py": TESTS})
        (shop.parent / "one.diff").write_text(f"{diff}\n")
    found = poor("judge", "--static", "--json", *words, cwd=shop).document
    assert [problem["code"] for problem in found["problems"]] == ["hollow test"]


UNREADABLE = {
    "nothing..HEAD": "unknown git revision 'nothing'",
    "--diff gone.diff": "gone.diff: No such file or directory",
    "--diff pipe": "pipe: not a regular file",
    "--diff bad.diff": "the diff does not apply",
    "--diff long.diff": "the diff has 20,001 files and hunks, more than 20,000",
    "--staged HEAD": "exclude each other",
    "--json --format sarif": "--json conflicts with",
}


def test_a_change_that_cannot_be_read(shop: Path, poor: Remora) -> None:
    os.mkfifo(shop / "pipe")
    hunk = "@@ -1 +1 @@\n-no\n+yes\n"
    bad = f"--- a/shop.py\n+++ b/shop.py\n{hunk}"
    write(shop, {"bad.diff": bad, "long.diff": bad + hunk * 20_000})
    for line, said in UNREADABLE.items():
        done = poor("judge", "--static", *line.split(), cwd=shop)
        assert (done.code, said in done.err) == (2, True), line


def test_files_that_are_renamed_gone_broken_or_binary(shop: Path, poor: Remora) -> None:
    git(shop, "mv", "tests/test_shop.py", "tests/test_discount.py")
    twice = "".join(f"def test_a():\n    assert shop.a({n}) == {n}\n" for n in (1, 2))
    files = {"broken.py": "def (:\n", "picture.py": "\0\0"}
    write(shop, {**files, "tests/test_twice.py": f"import shop\n{twice}"})
    (shop / "shop.py").unlink()
    found = poor("judge", "--static", "--json", cwd=shop).document
    broken = {"broken.py", "picture.py"}
    assert {(problem["path"], problem["code"]) for problem in found["problems"]} == {
        *((path, "ruff") for path in (*broken, "tests/test_twice.py")),
        ("tests/test_discount.py", "unfit call"),
    }
    assert {part["what"] for part in found["unjudged"]} == broken
    (shop / "tests/test_discount.py").unlink()
    found = poor("judge", "--static", "--json", cwd=shop).document
    assert "1 deleted test: tests/test_shop.py::test_small_prices_stay" in {
        part["what"] for part in found["unjudged"]
    }


def test_known_problems_are_left_out(shop: Path, poor: Remora) -> None:
    write(shop, {"tests/test_shop.py": TESTS + HOLLOW})
    words = ("judge", "--static", "--baseline", "known.jsonl")
    assert poor(*words, "--update-baseline", cwd=shop).code == 0
    assert poor(*words, cwd=shop).out == ("no remarks on 1 changed Python file, 1 known left out\n")


def test_formats_for_machines_and_pull_requests(shop: Path, poor: Remora) -> None:
    write(shop, {"tests/test_shop.py": TESTS + HOLLOW})
    log = json.loads(poor("judge", "--static", "--format", "sarif", cwd=shop).out)
    (result,) = log["runs"][0]["results"]
    assert result["ruleId"] == "remora/test/hollow test"
    shown = poor("judge", "--static", "--format", "github", cwd=shop).out
    assert "line=10" in shown
    words = ("judge", "--static", "--format", "markdown", "--reports", "out")
    text = poor(*words, cwd=shop).out
    assert text.startswith(
        "## Remora: 1 remark on 1 changed Python file\n\n- `tests/test_shop.py:10`"
    )
    written = {path.name: path.read_text() for path in (shop / "out").iterdir()}
    assert written.keys() == {"remora.json", "remora.sarif", "remora.md"}
    assert written["remora.md"] == text


LARGE = """

def test_large_prices_are_less():
    assert discount(200) < 200


def test_the_user(monkeypatch):
    import os

    assert discount(10) == 10
    assert os.environ["TZ"] == "UTC"


def test_the_error_of_none_is_in_the_assertion():
    from shop import cheapest

    found = cheapest([3, 4])
    assert found.real == 3
"""
CHEAPEST = """

def cheapest(prices):
    return min(prices)
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.usefixtures("unchanged")
def test_what_runs_is_judged_by_running_it(
    shop: Path, poor: Remora, plain_python: ProjectPython
) -> None:
    user = replace(poor, environ={"VIRTUAL_ENV": str(plain_python.python.parent.parent)})
    code = SHOP.replace("50", "100") + CHEAPEST
    write(shop, {"shop.py": code, "tests/test_shop.py": TESTS + LARGE})
    found = user("judge", "--json", "--seconds", "100", cwd=shop).document
    said = [(problem["code"], problem["line"]) for problem in found["problems"]]
    assert ("unnoticed fault", 7) in said
    assert ("environment-bound test", 15) in said
    assert not any(code == "hollow test" for code, _ in said)
    assert not [part for part in found["unjudged"] if "test_the_error" in part["what"]]


TABLE = """\
import pytest, shop
from tests.rows import ROWS
@pytest.mark.parametrize(("total", "price"), ROWS)
def test_rows(total, price):
    assert shop.discount(total) == price
"""
SUMS = (
    SHOP.replace("    if ", "    SUM.append(total)\n    total = sum(SUM)\n    if ") + "\nSUM = []\n"
)
SUMMED = {
    f"a b/test_{total}.py": f"import shop\ndef test_it(): assert shop.discount({total}) == {price}\n"
    for total, price in ((100, 90), (20, 20))
}
AFTER_OTHERS = (
    "a b/test_20.py::test_it fails: assert 108.0 == 20; + where 108.0 = <function discount>(20); + where "
    "<function discount> = shop.discount; tests/test_shop.py::test_small_prices_stay fails: assert "
    "117.0 == 10; + where 117.0 = discount(10)"
)
Files = dict[str, str]
MORE = {"tests/more.py": "", "tests/test_more.py": "import tests.more\ndef test_more(): pass\n"}
IN_ROWS = {"tests/__init__.py": "", "tests/test_rows.py": TABLE, **MORE}
BROKEN = {"tests/more.py": "raise ValueError('as tests/rows.py says')\n"}
DESCRIBED = SHOP.replace("(total)", "(total: float) -> float").replace("The price", "Its price")


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {"shop.py": DESCRIBED}, ""),
        (
            {**IN_ROWS, "tests/rows.py": "ROWS = [(1, 1), (2, 2), (3, 3)]\n"},
            {"tests/rows.py": "ROWS = [(1, 1), (2, 3), (4, 5)]\n", **BROKEN},
            "tests/test_more.py cannot be collected: ValueError: as tests/rows.py says; "
            "tests/test_rows.py::test_rows[2-3] fails, and 1 more row: "
            "assert 2 == 3; + where 2 = <function discount>(2); + where <function discount> = shop.discount",
        ),
        (SUMMED, {"shop.py": SUMS}, AFTER_OTHERS),
    ],
)
def test_what_is_described_anew_needs_no_test_and_a_table_is_one_test(
    shop: Path, poor: Remora, plain_python: ProjectPython, before: Files, after: Files, said: str
) -> None:
    user = replace(poor, environ={"VIRTUAL_ENV": str(plain_python.python.parent.parent)})
    write(shop, before)
    git(shop, "add", ".")
    git(shop, "commit", "-q", "--allow-empty", "-m", "before")
    write(shop, after)
    found = user("judge", "--json", cwd=shop).document
    assert "; ".join(problem["message"] for problem in found["problems"]) == said
    assert all(problem["message"].startswith(problem["path"]) for problem in found["problems"])


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("conftest", "why"),
    [
        ("def f(:\n", "SyntaxError: invalid syntax"),
        ("def pytest_collection_modifyitems():\n    raise KeyError('x')\n", "KeyError: 'x'"),
    ],
)
def test_why_pytest_runs_no_test(
    shop: Path, poor: Remora, plain_python: ProjectPython, conftest: str, why: str
) -> None:
    user = replace(poor, environ={"VIRTUAL_ENV": str(plain_python.python.parent.parent)})
    write(shop, {"shop.py": SHOP.replace("50", "100"), "tests/conftest.py": conftest})
    found = user("judge", "--json", cwd=shop).document
    (reach,) = [part for part in found["unjudged"] if "enters discount" in part["what"]]
    assert reach["why"] == f"pytest runs no test: {why}"
    is_missing = {"message": "tests/test_shop.py::test_small_prices_stay is no longer collected"}
    is_told = any(is_missing.items() <= problem.items() for problem in found["problems"])
    untested = f"(run `{plain_python.python} -m pytest`)"
    assert is_told or found["untested"].endswith(untested)


ANNOTATED = """

def label(name: str) -> str:
    return f"{name}!"
"""
TEST_OF_LABEL = """

def test_label():
    from shop import label

    assert label(%s)[:1] == "4"
    assert label(%s) != label("5")
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("value", "remarks"), [("42", 1), ('"42"', 0)])
def test_values_of_tests_contradict_an_annotation(
    shop: Path, poor: Remora, plain_python: ProjectPython, value: str, remarks: int
) -> None:
    user = replace(poor, environ={"VIRTUAL_ENV": str(plain_python.python.parent.parent)})
    tests = TESTS + TEST_OF_LABEL % (value, value)
    write(shop, {"shop.py": SHOP + ANNOTATED, "tests/test_shop.py": tests})
    found = user("judge", "--json", cwd=shop).document
    said = [problem["message"] for problem in found["problems"] if problem["code"] == "values"]
    assert said == ["label(name: str) is given int (annotations of values in tests)"] * remarks


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_case_that_a_remark_names_is_a_change_to_review(
    shop: Path, poor: Remora, plain_python: ProjectPython
) -> None:
    user = replace(poor, environ={"VIRTUAL_ENV": str(plain_python.python.parent.parent)})
    more = "    assert discount(200) == 180\n"
    write(shop, {"tests/test_shop.py": TESTS + more})
    git(shop, "commit", "-q", "-a", "-m", "more")
    write(shop, {"shop.py": SHOP.replace("total > 50", "total >= 60")})
    done = user("judge", "--add-tests", "--json", cwd=shop)
    assert done.code == 1
    assert [problem["code"] for problem in done.document["problems"]] == ["unnoticed fault"]
    assert "with `discount(60)` would" in done.document["problems"][0]["message"]
    (job,) = done.document["run"]["jobs"]
    assert job["status"] == "verified"
    user("accept", "last", "--all", cwd=shop)
    tests = (shop / "tests/test_shop.py").read_text()
    assert tests == f"{TESTS}{more}    assert discount(59) == 59\n    assert discount(60) == 54.0\n"
    done = user("judge", "--add-tests", cwd=shop)
    assert done.code == 0
    assert "no test is added" in done.err


def test_cases_are_added_only_to_the_files_of_the_project(shop: Path, poor: Remora) -> None:
    for words in (["--staged"], ["--static"], ["HEAD..HEAD"], ["--format", "sarif"]):
        done = poor("judge", "--add-tests", *words, cwd=shop)
        assert (done.code, "--add-tests" in done.err) == (2, True), words
