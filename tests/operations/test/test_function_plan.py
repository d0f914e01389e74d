"""Real trials: survivors of existing tests, and examples that documentation shows."""

from pathlib import Path

import pytest

from remora.judges.calls.project_examples import ProjectExamples
from remora.judges.tests.mutation_check import prove_together
from remora.operations.test.file_tests import write_tests
from remora.operations.test.function_plan import FunctionPlan, plan_missing
from remora.operations.test.further_plan import plan_further
from remora.operations.test.trivial_functions import TRIVIAL
from remora.sandbox.interpreters import ProjectPython
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
SIZE = "\n\ndef size():\n    return 10\n"
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
def place(tree: Path, plain_python: ProjectPython) -> ToolTree:
    return ToolTree(tree, plain_python)


def first(place: ToolTree, path: str, node: str) -> FunctionPlan:
    return plan_missing(place, path, node, ProjectExamples(place))


def further(place: ToolTree) -> FunctionPlan:
    return plan_further(place, "shop.py", "shipping", ProjectExamples(place), range(1, 30))


def calls(plan: FunctionPlan) -> list[str]:
    return [case.call for case in plan.cases]


@pytest.mark.slow
def test_boundaries_and_examples_that_tests_miss_are_further_cases(
    tree: Path, place: ToolTree
) -> None:
    (tree / "shop.py").write_text(PRICE)
    (tree / "test_shop.py").write_text(f"{WEAK}    assert shipping(3) == 5\n")
    plan = further(place)
    added = [(dict(each.changed), each.expected) for each in plan.further]
    assert added == [({"weight": "10"}, "5"), ({"weight": "11"}, "12")]
    assert (plan.worth["killed"], plan.worth["mutants"]) == (6, 6)


@pytest.mark.slow
def test_an_example_that_runs_is_no_further_case(tree: Path, place: ToolTree) -> None:
    (tree / "shop.py").write_text(PRICE.replace("weight > 10", "weight > size()") + SIZE)
    (tree / "test_shop.py").write_text(f"{WEAK}    assert shipping(3) == 5\n")
    shown = [(dict(each.changed), each.expected) for each in further(place).further]
    assert shown == [({"weight": "20"}, "12")]
    (tree / "Makefile").write_text("test:\n\tpytest --doctest-modules\n")
    assert further(place).further == ()


@pytest.mark.slow
def test_a_test_of_one_behavior_gets_no_other_one(tree: Path, place: ToolTree) -> None:
    (tree / "shop.py").write_text(PRICE)
    (tree / "test_shop.py").write_text(WEAK)
    plan = further(place)
    assert (plan.further, plan.needs_writer) == ((), True)


@pytest.mark.slow
def test_tests_that_change_their_arguments_run_anew_with_each_fault(
    tree: Path, place: ToolTree
) -> None:
    (tree / "shop.py").write_text(PRICE)
    test = WEAK.replace("test_shipping()", "test_shipping(given)").replace("(2)", "(given[0])")
    head, _, body = test.partition("\n\n\n")
    table = '@pytest.mark.parametrize("given", [[2]])'
    text = f"import pytest\n{head}\n\n\n{table}\n{body}    given[0] = 20\n"
    (tree / "test_shop.py").write_text(text)
    assert "passes once" not in further(place).reason


@pytest.mark.slow
def test_nothing_is_proposed_where_the_tests_detect_all_faults(tree: Path, place: ToolTree) -> None:
    (tree / "shop.py").write_text(SHIPPING)  # a mutant without `left -= 10` never ends
    (tree / "test_shop.py").write_text(STRONG)
    assert "its tests detect all" in further(place).reason


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
def test_an_example_of_a_namesake_is_not_a_test(tree: Path, place: ToolTree) -> None:
    (tree / "forms.py").write_text(NAMESAKES)
    assert calls(first(place, "forms.py", "Form.check")) == ["Form().check('x')"]
    assert calls(first(place, "forms.py", "Schema.check")) == []


@pytest.mark.parametrize(
    ("exported", "expected"),
    [("from .text import load", ["load('a b')"]), ("def load(text):\n    return [text, '']", [])],
)
def test_documentation_is_about_the_exported_function(
    tree: Path, place: ToolTree, exported: str, expected: list[str]
) -> None:
    (tree / "shop").mkdir()
    (tree / "shop/__init__.py").write_text(exported + "\n")
    (tree / "shop/text.py").write_text("def load(text):\n    return text.split()[::-1]\n")
    (tree / "README.md").write_text(
        "```python\nimport shop\n\nshop.load('a b')  # => ['b', 'a']\n```\n"
    )
    assert calls(first(place, "shop/text.py", "load")) == expected


@pytest.mark.slow
def test_only_an_example_whose_result_is_the_shown_one_is_a_test(
    tree: Path, place: ToolTree
) -> None:
    (tree / "shop.py").write_text(PRICE.replace('    12\n    "', '    13\n    "'))
    assert calls(first(place, "shop.py", "shipping")) == ["shipping(2)"]
    (tree / "shop.py").write_text(PRICE)
    assert calls(first(place, "shop.py", "shipping")) == ["shipping(2)", "shipping(20)"]
    (tree / "shop.py").write_text(
        PRICE.replace("    12\n", "    13\n").replace("    5\n", "    4\n")
    )
    plan = first(place, "shop.py", "shipping")
    assert plan.reason == "shipping(2): its result is not the one that the example shows"


STOCK = '''\
class Stock:
    def __init__(self, *names):
        self.names = [*names]

    def take(self, name):
        """Return a name in capital letters, and remove it.

        >>> stock = Stock("apple", "pear")
        >>> stock.take("pear")
        'PEAR'
        """
        self.names.remove(name)
        return name.upper()
'''


def test_an_example_that_does_not_show_what_a_call_is_for_is_left_out(
    tree: Path, place: ToolTree
) -> None:
    (tree / "stock.py").write_text(STOCK)
    plan = first(place, "stock.py", "Stock.take")
    assert "do not show what a condition or a call is for" in plan.reason
    assert plan.needs_writer
    (tree / "stock.py").write_text(STOCK.replace("self.names.remove(name)\n        ", ""))
    assert first(place, "stock.py", "Stock.take").reason == TRIVIAL


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


@pytest.mark.slow
def test_a_result_that_differs_the_second_time_is_not_asserted(tree: Path, place: ToolTree) -> None:
    (tree / "labels.py").write_text(COUNTED)
    assert calls(first(place, "labels.py", "label")) == []
    (tree / "labels.py").write_text(COUNTED.replace("return cls.last", "return 1"))
    assert calls(first(place, "labels.py", "label")) == ["label('id')"]


ACCIDENT = """\
import multiprocessing, os, shutil

NAMES = {"ann", "bob"}


def f(a):
    \'\'\'Do it.

    >>> f(GIVEN)
    SHOWN
    \'\'\'
    return RESULT
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("result", "given", "shown"),
    [
        ("list(set(a))", "'ab'", "['a', 'b']"), ("list(set(a))", "'ab'", "['b', 'a']"),
        ("a.join(NAMES) * 1", "' '", "'ann bob'"), ("a.join(NAMES) * 1", "' '", "'bob ann'"),
        ("[*(a[0].keys() & a[1].keys())]", "({'a': 1, 'b': 2}, {'b': 1, 'a': 2})", "['a', 'b']"),
        ("(os.cpu_count() or 1) > a", "1", "True"), ("(os.cpu_count() or 1) > a", "1", "False"),
        ("(os.cpu_count() or 1) > a", "10_000", "False"),
        ("multiprocessing.cpu_count() > a", "0", "True"), ("bool(shutil.which(a))", "'sh'", "True"),
    ],
)  # fmt: skip
def test_a_result_that_is_an_accident_is_neither_asserted_nor_called_wrong(
    tree: Path, place: ToolTree, result: str, given: str, shown: str
) -> None:
    text = ACCIDENT.replace("RESULT", result).replace("GIVEN", given).replace("SHOWN", shown)
    (tree / "mod.py").write_text(text)
    plan = first(place, "mod.py", "f")
    assert ([*plan.cases], [*plan.wrong]) == ([], [])
    (tree / "mod.py").write_text(text.replace(result, "sorted(set(a))").replace(given, "'ab'"))
    assert calls(first(place, "mod.py", "f")) == (["f('ab')"] if shown == "['a', 'b']" else [])


COUNT = """\
STATE = {"number": 0}


def count(step):
    \"\"\"Count.

    >>> count(1)
    1
    >>> count(1)
    2
    >>> count(0.25)
    2.3
    >>> count(5)  # doctest: +SKIP
    9
    \"\"\"
    STATE["number"] += step
    return STATE["number"]


def twice(number):
    \"\"\"Double.

    >>> twice(2)
    4
    >>> print(twice(3))
    7
    \"\"\"
    return number * 2
"""


@pytest.mark.slow
def test_an_example_that_shows_another_result_is_named(tree: Path, place: ToolTree) -> None:
    (tree / "mod.py").write_text(COUNT)
    assert not first(place, "mod.py", "count").wrong
    plan = first(place, "mod.py", "twice")
    assert calls(plan) == ["twice(2)"]
    assert plan.wrong == ["the example `print(twice(3))` shows 7, and the code gives 6"]
    written = write_tests(place, "mod.py", ["twice"], {})
    assert written["wrong"] == [f"twice: {plan.wrong[0]}"]


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


@pytest.mark.parametrize(
    "name", ["test_prices.py", pytest.param("tests.py", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_further_cases_go_into_the_file_with_the_existing_ones(
    tree: Path, place: ToolTree, name: str
) -> None:
    (tree / "shop.py").write_text(PRICE)
    (tree / name).write_text(f"{WEAK}    assert shipping(3) == 5\n")
    (tree / "test_shop.py").write_text("def test_nothing():\n    assert True\n")
    done = write_tests(place, "shop.py", ["shipping"], {"shipping": [*range(1, 30)]})
    assert (done["path"], done["extended"]) == (name, ["test_shipping"])
    assert (done["tests"], done["ids"]) == ({"shipping": []}, [f"{name}::test_shipping"])
    assert (tree / name).read_text().endswith("(10) == 5\n    assert shipping(11) == 12\n")
