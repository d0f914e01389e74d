"""Real trials: survivors of existing tests, and examples that documentation shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.errors import HostError
from remora.operations.test.runner.mutation_check import prove_together
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host_functions import bind
from remora.tools.tree import ToolTree
from tests.isolation_levels import need

SHIPPING = '''\
def shipping(weight):
    """Return the price of a parcel.

    >>> shipping(2)
    5
    >>> shipping(20)
    12
    """
    left = weight
    price = 5
    while left > 10:
        left -= 10
        price += 7
    return price
'''
PRICE = '''\
def shipping(weight):
    """Return the price of a parcel.

    >>> shipping(2)
    5
    >>> shipping(20)
    12
    """
    return 12 if weight > 10 else 5
'''
PLURAL = '''\
def plural(count, word):
    """Return the form of a word.

    >>> plural(1, "apple")
    'apple'
    >>> plural(2, "apple")
    'apples'
    """
    return word if count == 1 else word + "s"
'''
WEAK = "from shop import shipping\n\n\ndef test_shipping():\n    assert shipping(2) == 5\n"
STRONG = (
    WEAK + "    assert [shipping(n) for n in (10, 11, 20, 21, 30, 31)] == [5, 12, 12, 19, 19, 26]\n"
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    need(2)
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


@pytest.fixture
def run(tree: Path, plain_python: ProjectPython) -> Callable[..., Any]:
    host = bind(BUILT_IN.host_functions.values(), ToolTree(tree, plain_python))
    return lambda name, *args: host[name](*args)


def test_a_case_is_proposed_for_faults_that_the_tests_miss(
    tree: Path, run: Callable[..., Any]
) -> None:
    (tree / "shop.py").write_text(PRICE)
    (tree / "test_shop.py").write_text(WEAK)
    plan = run("strengthen_plan", "shop.py", "shipping")
    assert plan["state"] == "open"
    assert "shipping(20)" in [case["call"] for case in plan["cases"]]
    assert (plan["killed"], plan["mutants"]) == (2, 5)
    written = run("write_test", "shop.py", "shipping", plan["cases"])
    assert run("run_tests", written["ids"])["passed"]


@pytest.mark.slow
def test_a_row_that_a_table_lacks_is_named(tree: Path, run: Callable[..., Any]) -> None:
    (tree / "shop.py").write_text(PRICE)
    table = "import pytest\n\n\n@pytest.mark.parametrize('weight', [1, 2])\n"
    test = WEAK.replace("(2)", "(weight)").replace("test_shipping()", "test_shipping(weight)")
    (tree / "test_shop.py").write_text(test.replace("\n\n\n", f"\n{table}"))
    plan = run("strengthen_plan", "shop.py", "shipping")
    row = "it needs a writer: a row for shipping(20) in the table of test_shipping"
    assert plan["reason"].startswith(row)


def test_examples_that_run_count_as_existing_tests(tree: Path, run: Callable[..., Any]) -> None:
    (tree / "shop.py").write_text(PRICE)
    (tree / "pytest.ini").write_text("[pytest]\naddopts = --doctest-modules\n")
    assert "its examples run" in run("strengthen_plan", "shop.py", "shipping")["reason"]
    (tree / "test_shop.py").write_text(WEAK)
    plan = run("strengthen_plan", "shop.py", "shipping")
    assert "shipping(20)" not in [case["call"] for case in plan["cases"]]


def test_tests_that_change_their_arguments_say_nothing_about_faults(
    tree: Path, run: Callable[..., Any]
) -> None:
    (tree / "shop.py").write_text(PRICE)
    test = WEAK.replace("test_shipping()", "test_shipping(given)").replace("(2)", "(given[0])")
    head, _, body = test.partition("\n\n\n")
    table = '@pytest.mark.parametrize("given", [[2]])'
    text = f"import pytest\n{head}\n\n\n{table}\n{body}    given[0] = 20\n"
    (tree / "test_shop.py").write_text(text)
    with pytest.raises(HostError, match="passes once"):
        run("strengthen_plan", "shop.py", "shipping")


@pytest.mark.slow
def test_nothing_is_proposed_where_the_tests_detect_all_faults(
    tree: Path, run: Callable[..., Any]
) -> None:
    (tree / "shop.py").write_text(SHIPPING)  # a mutant without `left -= 10` never ends
    (tree / "test_shop.py").write_text(STRONG)
    assert "its tests detect all" in run("strengthen_plan", "shop.py", "shipping")["reason"]


NAMESAKES = '''\
class Schema:
    def check(self, value):
        return [value, value]


class Form:
    """A form.

    >>> Form().check("x")
    {'errors': ['x', 'x']}
    """

    def check(self, value):
        return {"errors": Schema().check(value)}
'''


@pytest.mark.slow
def test_an_example_of_a_namesake_is_not_a_test(tree: Path, run: Callable[..., Any]) -> None:
    (tree / "forms.py").write_text(NAMESAKES)
    calls = [case["call"] for case in run("test_plan", "forms.py", "Form.check")["cases"]]
    assert calls == ["Form().check('x')"]
    assert run("test_plan", "forms.py", "Schema.check")["cases"] == []


def test_cases_show_both_outcomes_of_a_conditional_expression(
    tree: Path, run: Callable[..., Any]
) -> None:
    (tree / "shop.py").write_text(PLURAL)
    plan = run("test_plan", "shop.py", "plural")
    assert {case["value"] for case in plan["cases"]} == {"'apple'", "'apples'"}
    (tree / "shop.py").write_text(PLURAL.replace("count == 1", "not isinstance(count, int)"))
    hidden = run("test_plan", "shop.py", "plural")
    assert hidden["reason"].endswith("known arguments show one outcome of a condition")


UNIQUE = '''\
def count(words, unique=False):
    """Return the number of words.

    >>> count(["a", "b"], unique=True)
    2
    """
    if unique:
        words = set(words)
    return len(words)
'''


def test_an_example_that_does_not_show_what_its_option_is_for_is_left_out(
    tree: Path, run: Callable[..., Any]
) -> None:
    (tree / "shop.py").write_text(UNIQUE)
    assert run("test_plan", "shop.py", "count")["cases"] == []
    (tree / "shop.py").write_text(UNIQUE.replace('"b"', '"a"').replace("2\n", "1\n"))
    assert run("test_plan", "shop.py", "count")["state"] == "open"


STOCK = '''\
class Stock:
    def __init__(self, *names):
        self.names = [*names]

    def __contains__(self, name):
        return name in self.names

    def take(self, name):
        """Return a name in capital letters, and remove it.

        >>> stock = Stock("apple", "pear")
        >>> stock.take("pear")
        'PEAR'
        """
        self.names.remove(name)
        return name.upper()
'''
HIDDEN = STOCK.replace("self.names", "self._names").replace("__contains__", "_has")


def test_a_test_of_a_method_says_what_it_changes(tree: Path, run: Callable[..., Any]) -> None:
    (tree / "stock.py").write_text(STOCK)
    (case,) = run("test_plan", "stock.py", "Stock.take")["cases"]
    assert [*case["claims"]] == [("{}", "'PEAR'"), ("'pear' in stock", "False")]
    (tree / "stock.py").write_text(HIDDEN)
    plan = run("test_plan", "stock.py", "Stock.take")
    assert "do not show what a condition or a call is for" in plan["reason"]


COUNTED = '''\
class Numbers:
    last = 0

    @classmethod
    def following(cls):
        cls.last += 1
        return cls.last


def label(prefix):
    """Return a new label.

    >>> label("id")
    'id1'
    """
    return f"{prefix}{Numbers.following()}"
'''


def test_a_result_that_differs_the_second_time_is_not_asserted(
    tree: Path, run: Callable[..., Any]
) -> None:
    (tree / "labels.py").write_text(COUNTED)
    assert "no planted fault" in run("test_plan", "labels.py", "label")["reason"]
    (tree / "labels.py").write_text(COUNTED.replace("return cls.last", "return 1"))
    assert run("test_plan", "labels.py", "label")["state"] == "open"


@pytest.mark.slow
def test_tests_that_fail_beside_others_do_not_pass(tree: Path, plain_python: ProjectPython) -> None:
    (tree / "labels.py").write_text(COUNTED + "\n\ndef title(text):\n    return text.upper()\n")
    (tree / "test_labels.py").write_text(
        "from labels import label, title\n\n\n"
        "def test_label():\n    assert label('id') == 'id1'\n\n\n"
        "def test_label_again():\n    assert label('id') == 'id1'\n\n\n"
        "def test_title():\n    assert title('a') == 'A'\n"
    )
    first, again, other = (
        f"test_labels.py::test_{name}" for name in ("label", "label_again", "title")
    )
    groups = {"Numbers.following": [first], "label": [again], "title": [other]}
    proofs = prove_together(ToolTree(tree, plain_python), "labels.py", groups)
    assert proofs["label"].problem.startswith("beside other tests, ")
    assert not proofs["title"].problem
