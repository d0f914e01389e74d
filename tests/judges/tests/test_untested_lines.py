"""Changed lines that no test notices, and what cannot be known because of how tests reach them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from remora.judges.judged_change import Change, ChangedFile, Judged, Untested
from remora.judges.tests.untested_lines import FOREIGN, untested_lines
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree
from tests.isolation_levels import need

SHOP = """\
def untested(price):
    return price * 7


def halved(price):
    if price > 10:
        return price / 2
    return price


def squares(number):
    return [item * item for item in range(number)]


SQUARES = squares(5)


def rows(number):
    return [(item, item + 1) for item in range(number)]


def loaded(number):
    return {"a": number + 1}


def seen(price):
    return price + 1


def opened(price):
    return price + 2


def skipped(price):
    return price + 3


def expected(price):
    return price + 4


def left_out(price):
    return price + 5
"""
LAZY = "import sys\nOUT = sys.stdout.buffer\n\n\ndef later(price):\n    if price > 3:\n        return 0\n    return price\n"
TESTS = """\
import pytest
import shop


@pytest.fixture(scope="module")
def stock():
    return shop.loaded(1)


def test_halved():
    assert shop.halved(4) == 4


def test_squares():
    assert shop.SQUARES == [0, 1, 4, 9, 16]


@pytest.mark.parametrize(("item", "next_one"), shop.rows(2))
def test_rows(item, next_one):
    assert item + 1 == next_one


def test_stock(stock):
    assert stock


def test_stock_of_a(stock):
    assert stock == {"a": 2}


def test_seen():
    assert shop.seen(1)


def test_seen_exactly():
    assert shop.seen(1) == 2
    raise OSError("offline")


def test_opened():
    raise OSError("offline")
    assert shop.opened(1) == 3


@pytest.mark.skip
def test_skipped():
    assert shop.skipped(1) == 4


@pytest.mark.xfail
def test_expected():
    assert shop.expected(1) == 0


def test_in_the_test():
    from lazy import later

    assert later(1) == 1
"""
OTHERS = """\
import pytest

pytest.importorskip("not_installed")


def test_left_out():
    from shop import left_out

    assert left_out(1) == 6
"""


def judged(root: Path, python: ProjectPython, files: Mapping[str, str]) -> Judged:
    """Judge a project in which all files are new, or had the content `before`."""
    before = files["before"].encode() if "before" in files else None
    for path, text in files.items():
        (root / path).write_text(text)
    changed = {
        path: ChangedFile(path=path, before=before, after=text.encode())
        for path, text in files.items()
        if path in ("shop.py", "lazy.py", "test_new.py")
    }
    place = ToolTree(root, python)
    return untested_lines(Change(before=place, after=place, files=changed), lambda: False)


@pytest.mark.slow
def test_a_remark_is_made_only_if_all_tests_that_may_notice_a_fault_were_tried(
    tmp_path: Path, plain_python: ProjectPython
) -> None:
    """Tests may share a fixture, import in the test, fail or be skipped, and code may run
    before them.
    """
    need(2)
    files = {"shop.py": SHOP, "lazy.py": LAZY}
    said = judged(tmp_path, plain_python, {**files, "test_shop.py": TESTS, "test_other.py": OTHERS})
    assert {
        item.node_id.rpartition(":")[2]: item.message.partition(" if ")[0] for item in said.findings
    } == {
        "untested": "no test enters `untested`",
        "halved": "no test notices",
        "later": "no test notices",
    }
    unjudged = {item.what.rpartition(" ")[2]: item.why for item in said.unjudged}
    early = dict.fromkeys(
        ("squares", "rows"),
        "it runs when its file is imported, before a fault can be planted",
    )
    broken = {
        "seen": "shop.py::test_seen_exactly",
        "opened": "shop.py::test_opened",
        "skipped": "shop.py::test_skipped",
        "left_out": "other.py::test_left_out",
    }
    assert unjudged == early | {"expected": "a test fails"} | {
        name: f"a test that may reach it fails or is skipped: test_{test}"
        for name, test in broken.items()
    }


@pytest.mark.slow
def test_what_tests_run_in_another_process_is_not_known(
    tmp_path: Path, plain_python: ProjectPython
) -> None:
    """Processes of other programs do not enter the project's code."""
    need(2)
    code = "def printed(price):\n    return price * 7\n"
    for started, known in (("sys.executable, '-m', 'shop'", False), ("'/bin/true'", True)):
        test = (
            f"import shop, subprocess, sys\n\n\ndef test_it():\n    subprocess.run([{started}])\n"
        )
        said = judged(tmp_path, plain_python, {"shop.py": code, "test_shop.py": test})
        assert bool(said.findings) == known, said
        assert all(isinstance(part, Untested) for part in said.unjudged), "nothing was judged"
    new = "def test_new(): raise OSError('it may be about it')\n"
    assert not judged(tmp_path, plain_python, {"shop.py": code, "test_new.py": new}).findings
    said = judged(tmp_path, plain_python, {"shop.py": code, "test_bad.py": "import shops\n"})
    assert [part.why for part in said.unjudged] == ["test_bad.py cannot be collected"]


@pytest.mark.slow
def test_a_test_that_did_not_run_may_notice(tmp_path: Path, plain_python: ProjectPython) -> None:
    need(2)
    code = "def half(n):\n    return n / 2\n"
    test = "import shop, time\ndef test_a(): assert shop.half(3)\ndef test_b(): time.sleep(11)\n"
    test += "def test_c(): assert shop.half(3) == 1.5\n"
    assert not judged(tmp_path, plain_python, {"shop.py": code, "test_shop.py": test}).findings


@pytest.mark.slow
def test_what_was_there_and_what_another_platform_runs_gets_no_remark(
    tmp_path: Path, plain_python: ProjectPython
) -> None:
    """An argument beside a new one was there before, and so was a line that another function had."""
    need(2)
    locked = "def locked(n):\n    if sys.platform != 'win32':\n        return 0\n    return n + 1\n"
    before = f"import sys\ndef sold(n, tax=1):\n    return n / tax\n{locked}"
    code = before.replace("=1", "=1, off=0").replace("+ 1", "+ 2")
    code = code.replace("n / tax", "a(n, tax)") + "def a(n, tax):\n    return n / tax\n"
    test = "import shop\n\n\ndef test_it():\n    assert shop.sold(3) == 3\n"
    files = {"shop.py": code, "test_shop.py": test, "before": before}
    said = judged(tmp_path, plain_python, files)
    assert not said.findings
    (left,) = said.unjudged
    assert (left.what.rpartition(" ")[2], left.why) == ("locked", FOREIGN)


@pytest.mark.slow
def test_a_remark_says_which_fault_survives_in_which_line(
    tmp_path: Path, plain_python: ProjectPython
) -> None:
    """Many that survive in one line do not hide those of the next one, nor those of a nested function."""
    need(2)
    code = """\
def limited(text, low=0, high=9, *, a=0, b=0, c=0):
    def number():
        print(a, b, c)
        if int(text) < low:
            raise ValueError(text)
        if int(text) > high:
            raise ValueError(text)
        return int(text)

    return number()
"""
    test = """\
import pytest, shop


def test_limits():
    assert shop.limited("7", 5, 8) == 7
    for text in ("3", "9"):
        with pytest.raises(ValueError):
            shop.limited(text, 5, 8)
"""
    said = judged(tmp_path, plain_python, {"shop.py": code, "test_shop.py": test})
    assert [item.message for item in said.findings] == [
        "no test notices if the argument a was ignored, nor if `int(text) < low` became `int(text) <="
        " low` on line 4, nor if `int(text) > high` became `int(text) >= high` on line 6"
    ]
