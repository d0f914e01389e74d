"""Calls that a model wrote are measured, and become a test if they detect faults."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.operations.test.chosen_cases import NOT_DETECTED, NOTHING_SHOWN, chosen_cases
from remora.operations.test.function_context import target_at
from remora.operations.test.host_model_calls import written_calls
from remora.operations.test.inputs.project_examples import ProjectExamples
from remora.operations.test.mutants import mutants
from remora.operations.test.runner.trials import TrialResults, try_calls
from remora.operations.test.target_function import TargetFunction
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host_functions import bind
from remora.tools.tree import ToolTree
from tests.isolation_levels import need

DATES = """\
def parse(text, strict=False):
    parts = text.split("-")
    if len(parts) != 3 or (strict and len(parts[0]) != 4):
        raise ValueError(text)
    year, month, day = parts
    return int(year) * 10000 + int(month) * 100 + int(day)
"""
CART = """\
class Cart:
    def __init__(self, owner, limit=3):
        self.owner = owner
        self.limit = limit
        self.names = []

    def add(self, name, count=1):
        self.names.extend([name] * count)
        return len(self.names) < self.limit
"""
RESULTS = """\
class Scale:
    def __init__(self, factor):
        self._factor = factor

    def read(self, text):
        return int(text) * self._factor


class Word:
    def __init__(self, text):
        self._text = text

    def __str__(self):
        return self._text


def scale(factor):
    return Scale(factor + 1)


def words(text):
    return [Word(each.lower()) for each in text.split(",")]


def increment(name, step=1):
    def change(row):
        row[name] = row[name] + step

    return change


def repeated(text, count):
    return "".join(text for _ in range(count))


def rename(row, old, new):
    row[new] = row.pop(old)


def stripped(text):
    return "\\n".join(line.rstrip() for line in text.split("\\n"))
"""
LINE = "a line of a long letter to a friend in another town"
WEAK = (
    "from dates import parse\n\n\ndef test_parse():\n    assert parse('2024-01-02') == 20240102\n"
)
RANDOM = "import random\nparse(f'{random.randint(1, 3000)}-1-1')"
DAMAGE = "damage.txt"
Run = Callable[..., Any]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    need(2)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "dates.py").write_text(DATES)
    return tmp_path / "tree"


@pytest.fixture
def place(tree: Path, plain_python: ProjectPython) -> ToolTree:
    return ToolTree(tree, plain_python)


@pytest.fixture
def run(place: ToolTree) -> Run:
    host = bind(BUILT_IN.host_functions.values(), place)
    return lambda name, *args: host[name](*args)


def subject(place: ToolTree, path: str, name: str) -> TargetFunction:
    found = target_at(place, path, name)
    assert isinstance(found, TargetFunction)
    return found


def tried(place: ToolTree, path: str, name: str, codes: Iterable[str]) -> TrialResults:
    """Try the calls of several answers in one process."""
    function, examples = subject(place, path, name), ProjectExamples(place)
    calls = [call for code in codes for call in written_calls(function, code, examples)]
    faults = mutants(place.read(path), name)
    return try_calls(place, function, calls, faults=faults)


def files(tree: Path) -> dict[str, str]:
    return {p.relative_to(tree).as_posix(): p.read_text() for p in tree.rglob("*") if p.is_file()}


def test_a_test_asserts_what_was_measured(tree: Path, run: Run) -> None:
    code = "parse('2024-01-02', strict=True)\nparse('24-01-02', strict=True)"
    done = run("write_calls", "dates.py", "parse", code)
    assert done["ids"] == [
        "tests/test_dates.py::test_parse",
        "tests/test_dates.py::test_parse_raises_value_error",
    ]
    assert (done["first"], done["killed"] + done["left"]) == (True, done["mutants"])
    assert done["killed"] > done["left"]
    assert files(tree)[done["path"]] == (
        "import pytest\n\nfrom dates import parse\n\n\n"
        "def test_parse():\n"
        '    assert parse("2024-01-02", strict=True) == 20240102\n\n\n'
        "def test_parse_raises_value_error():\n"
        "    with pytest.raises(ValueError):\n"
        '        parse("24-01-02", strict=True)\n'
    )


REFUSED = {
    "parse(1 / 0)": "it does not enter the function",
    "parse(str([0 for _ in iter(int, 1)]))": "it takes longer than a second",
    f"parse(open({DAMAGE!r}, 'w').name)": "it has effects outside the process (open)",
    f"name = open({DAMAGE!r}, 'w').name\nparse(name)": "it has effects outside the process",
    f"parse(str(__import__('os').system('touch {DAMAGE}')))": "it has effects outside",
    "parse('a-b-c')": "it raises ValueError, which no code of the project raises",
    RANDOM: "its result differs between two runs",
    "parse(exit())": "it ends the process",
}


def test_what_cannot_be_asserted_is_refused_and_leaves_the_files_as_they_were(
    tree: Path, place: ToolTree
) -> None:
    found = tried(place, "dates.py", "parse", REFUSED)
    assert found.cases == []
    assert len(found.problems) == len(REFUSED)
    for (_, problem), reason in zip(found.problems, REFUSED.values(), strict=True):
        assert reason in problem
    assert files(tree) == {"dates.py": DATES}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code", "body"),
    [
        ("scale", "assert scale(2).read('5') == 15", ['assert scale(2).read("5") == 15']),
        (
            "scale",
            "made = scale(2)\nassert made.read('5') == 15",
            ["made = scale(2)", 'assert made.read("5") == 15'],
        ),
        (
            "repeated",
            "assert repeated('ab', 200) == 'ab' * 200",
            ['assert repeated("ab", 200) == "ab" * 200'],
        ),
        (
            "words",
            "assert str(words('Tea,milk')[0]) == 'tea'",
            ['assert str(words("Tea,milk")[0]) == "tea"'],
        ),
        (
            "increment",
            "row = {'n': 1}\nincrement('n', 2)(row)\nassert row == {'n': 3}",
            ['row = {"n": 1}', 'increment("n", 2)(row)', 'assert row == {"n": 3}'],
        ),
        (
            "rename",
            "row = {'n': 1}\nrename(row, 'n', 'm')\nassert row == {'m': 1}",
            ['row = {"n": 1}', 'rename(row, "n", "m")', 'assert row == {"m": 1}'],
        ),
        (
            "stripped",
            f"text = {LINE + chr(10) + LINE!r}\nassert stripped(text) == text",
            [
                "text = (",
                f'    "{LINE}\\n"',
                f'    "{LINE}"',
                ")",
                "assert stripped(text) == text",
            ],
        ),
    ],
)
def test_what_a_model_does_with_a_result_is_asserted_if_no_literal_equals_it(
    tree: Path, run: Run, name: str, code: str, body: list[str]
) -> None:
    (tree / "results.py").write_text(RESULTS)
    done = run("write_calls", "results.py", name, code)
    assert "problem" not in done, done
    lines = files(tree)[done["path"]].splitlines()
    assert [
        line.removeprefix("    ") for line in lines[lines.index(f"def test_{name}():") + 1 :]
    ] == body


def test_what_no_fault_changes_is_no_test(tree: Path, place: ToolTree) -> None:
    (tree / "results.py").write_text(RESULTS)
    codes = [
        "scale(2)\nmade = Scale(3)\nassert made.read('5') == 15",
        "made = scale(2)\nassert Scale(3).read('5') == made.read('1')",
        "made = Scale(3)\nscale(made.read('1'))\nassert made.read('5') == 15",
        "assert (scale(2), 5)[1] == 5",
        "assert {'a': scale(2), 'b': 5}['b'] == 5",
        "made = scale(2)\nassert made == made",
        "assert scale(2) != Word('a')",
        "assert all([scale(2), True])",
    ]
    found = tried(place, "results.py", "scale", codes)
    assert found.cases
    assert chosen_cases(subject(place, "results.py", "scale"), found, is_first=True)[0] == []


@pytest.mark.slow
def test_further_calls_must_detect_what_the_tests_miss(tree: Path, run: Run) -> None:
    (tree / "test_dates.py").write_text(WEAK)
    done = run("write_calls", "dates.py", "parse", "parse('1999-12-31')")
    assert done == {"problem": NOT_DETECTED}
    twice = "text = '1999-12-31'\nparse(text)\ntext = str(text)\nparse(text)"
    assert run("write_calls", "dates.py", "parse", twice) == {"problem": NOT_DETECTED}
    done = run("write_calls", "dates.py", "parse", "parse('24-01-02', strict=True)")
    assert (done["first"], done["killed"] > 0) == (False, True)
    assert done["killed"] + done["left"] == done["mutants"]
    assert done["ids"] == ["test_dates.py::test_parse_with_strict_raises_value_error"]
    assert files(tree)["test_dates.py"].count("def test_") == 2


def test_trivial_results_are_no_first_test(tree: Path, run: Run) -> None:
    assert run("write_calls", "dates.py", "parse", "parse('a')") == {"problem": NOTHING_SHOWN}
    assert files(tree) == {"dates.py": DATES}


def test_a_question_shows_the_function_its_calls_and_the_faults_that_no_test_detects(
    tree: Path, run: Run
) -> None:
    (tree / "shop.py").write_text(CART)
    found = run("call_question", "shop.py", "Cart.add")
    assert (found["lines"], found["made_by"]) == ([7, 9], "Cart(owner, limit=3)")
    assert found["text"].startswith("    def add(self, name, count=1):\n")
    assert (found["calls"], found["tests"]) == ([], [])
    assert (
        "line 9: `len(self.names) < self.limit` became `len(self.names) <= self.limit`"
        in found["faults"]
    )
    (tree / "test_dates.py").write_text(WEAK)
    found = run("call_question", "dates.py", "parse")
    assert (found["calls"], found["tests"]) == (
        ["parse('2024-01-02')"],
        ["test_dates.py::test_parse"],
    )
    assert "line 1: the argument strict was ignored" in found["faults"]
    assert "line 6: it returns None" not in found["faults"]
    assert [*run("call_question", "dates.py", "missing")] == ["problem"]
