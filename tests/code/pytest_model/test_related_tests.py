"""Related tests by call, fixture, setup function, inheritance, import and name."""

import textwrap
from collections.abc import Collection

import pytest

from remora.code.callgraph.linker import Linker
from remora.code.file_analysis import read_facts
from remora.code.pytest_model.pytest_file import is_conftest, is_test_file, pytest_id
from remora.code.pytest_model.related_tests import RelatedTests
from remora.hub.query.snapshots import MemorySnapshot

APP = """
def low():
    return 1


def middle():
    return low()


def unused():
    return 2


class Cart:
    def __init__(self, items=()):
        self.items = items

    def total(self):
        return len(self.items)

    def __len__(self):
        return self.total()
"""


def related(key: str, files: dict[str, str] | str) -> dict[str, str]:
    """Return the pytest ID and tier of each related test. A text is that of `tests/test_x.py`."""
    more = {"tests/test_x.py": files} if isinstance(files, str) else files
    sources = {"app.py": APP, **more}
    facts = {p: read_facts(p, textwrap.dedent(text).encode()) for p, text in sources.items()}
    view = MemorySnapshot({one.path: one for one in facts.values()})
    found = RelatedTests(Linker(view), view).search(f"node:{key}").tests
    assert [one.tier for one in found if one.tier == "possible"] == [
        one.tier for one in found[len(found) - sum(one.tier == "possible" for one in found) :]
    ]
    return {one.id: one.tier for one in found}


def test_a_test_that_calls_the_node() -> None:
    test = "from app import low\n\n\ndef test_it():\n    assert low()\n"
    assert related("app.py:low", test) == {"tests/test_x.py::test_it": "exact"}


def test_through_other_nodes_up_to_a_depth() -> None:
    test = "from app import middle\n\n\ndef test_it():\n    assert middle()\n"
    assert related("app.py:low", test) == {"tests/test_x.py::test_it": "exact"}
    chain = "".join(f"def f{n}():\n    return f{n + 1}()\n" for n in range(11))
    tests = {"chain.py": chain, "test_chain.py": "from chain import *\ndef test():\n    f0()\n"}
    assert related("chain.py:f9", tests) == {"test_chain.py::test": "exact"}
    assert related("chain.py:f10", tests) == {}


def test_the_nearest_test_comes_first() -> None:
    tests = """
        from app import low, middle

        def test_a_far():
            middle()

        def test_b_near():
            low()
    """
    found = related("app.py:low", {"tests/test_app.py": tests})
    assert list(found) == ["tests/test_app.py::test_b_near", "tests/test_app.py::test_a_far"]


def test_through_shared_helpers() -> None:
    test = """
        from app import low

        def check():
            return low()

        class TestA:
            def check_more(self):
                return check()

            def test_it(self):
                def inner():
                    return self.check_more()

                assert inner()
    """
    assert related("app.py:low", test) == {"tests/test_x.py::TestA::test_it": "exact"}


def test_the_weakest_link_is_the_tier() -> None:
    test = """
        from app import low

        def run(function):
            return function()

        def test_it():
            assert run(low)
    """
    assert related("app.py:low", test) == {"tests/test_x.py::test_it": "inferred"}


def test_through_a_fixture_of_the_same_file_and_of_a_conftest() -> None:
    files = {
        "tests/conftest.py": """
        import pytest
        from app import Cart

        @pytest.fixture
        def cart():
            return Cart()

        @pytest.fixture(name="filled")
        def _filled(cart):
            return cart
        """,
        "tests/test_x.py": """
        import pytest

        def test_direct(cart):
            pass

        def test_through_another(filled):
            pass

        @pytest.mark.usefixtures("cart")
        def test_by_mark():
            pass

        def test_without():
            pass
        """,
        "other/test_y.py": "def test_elsewhere(cart):\n    pass\n",
        "tests/own/test_z.py": """
        import pytest

        @pytest.fixture
        def cart():
            return 1

        def test_own(cart):
            pass
        """,
    }
    assert related("app.py:Cart.__init__", files) == {
        "tests/test_x.py::test_direct": "exact",
        "tests/test_x.py::test_through_another": "exact",
        "tests/test_x.py::test_by_mark": "exact",
    }


def test_class_setup_serves_all_its_tests() -> None:
    test = """
        import unittest
        from app import low

        class LowCase(unittest.TestCase):
            def setUp(self):
                self.value = low()

            def test_one(self):
                pass

            def test_two(self):
                pass

        class NoTests:
            def test_helper(self):
                low()
    """
    assert related("app.py:low", test) == {
        "tests/test_x.py::LowCase::test_one": "exact",
        "tests/test_x.py::LowCase::test_two": "exact",
    }


def test_inherited_tests_run_in_subclasses() -> None:
    files = {
        "tests/base.py": """
        from app import low

        class Shared:
            def test_low(self):
                low()

            def test_more(self):
                low()
        """,
        "tests/test_x.py": """
        from tests.base import Shared

        class TestA(Shared):
            pass

        class TestB(Shared):
            def test_more(self):
                pass
        """,
    }
    assert set(related("app.py:low", files)) == {
        "tests/test_x.py::TestA::test_low",
        "tests/test_x.py::TestA::test_more",
        "tests/test_x.py::TestB::test_low",
    }


def test_class_setup_serves_inherited_tests() -> None:
    files = {
        "tests/base.py": """
        class Shared:
            def test_shared(self):
                pass
        """,
        "tests/test_x.py": """
        from tests.base import Shared as Tests
        from app import low

        class TestA(Tests):
            def setup_method(self):
                self.value = low()

        class TestB(Tests):
            pass
        """,
    }
    assert set(related("app.py:low", files)) == {"tests/test_x.py::TestA::test_shared"}


def test_setup_that_calls_the_inherited_one() -> None:
    test = """
        from app import low

        class TestA:
            def setup_method(self):
                low()

            def test_one(self):
                pass

        class TestB(TestA):
            def setup_method(self):
                super().setup_method()

            def test_two(self):
                pass
    """
    assert set(related("app.py:low", test)) == {
        "tests/test_x.py::TestA::test_one",
        "tests/test_x.py::TestB::test_one",
        "tests/test_x.py::TestB::test_two",
    }


def test_autouse_fixtures_serve_all_tests_in_scope() -> None:
    files = {
        "tests/conftest.py": """
        import pytest
        from app import low

        @pytest.fixture(autouse=True)
        def everywhere():
            low()
        """,
        "tests/test_x.py": """
        import pytest
        from app import unused

        def test_one():
            pass

        class TestA:
            @pytest.fixture(autouse=True)
            def here(self):
                unused()

            def test_two(self):
                pass
        """,
        "other/test_y.py": "def test_elsewhere():\n    pass\n",
    }
    assert set(related("app.py:low", files)) == {
        "tests/test_x.py::test_one",
        "tests/test_x.py::TestA::test_two",
    }
    assert set(related("app.py:unused", files)) == {"tests/test_x.py::TestA::test_two"}


def test_fixtures_requested_by_marks_and_by_name() -> None:
    files = {
        "tests/conftest.py": """
        import pytest
        from app import low

        @pytest.fixture
        def lowest():
            return low()
        """,
        "tests/test_all.py": """
        import pytest

        pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("lowest")]

        def test_one():
            pass
        """,
        "tests/test_some.py": """
        import pytest

        class TestA:
            pytestmark = pytest.mark.usefixtures("lowest")

            def test_two(self):
                pass

        def test_three(request):
            request.getfixturevalue("lowest")

        def test_four(request):
            request.getfixturevalue("another")
        """,
    }
    assert set(related("app.py:low", files)) == {
        "tests/test_all.py::test_one",
        "tests/test_some.py::TestA::test_two",
        "tests/test_some.py::test_three",
    }


DECORATING = """
import re


class Traced:
    def __init__(self, function):
        self.function = function

    def entered(self, *args):
        return self.function(*args)


def through_library(function):
    def replaced(match):
        return function()

    return re.compile("x").sub(replaced, "x")


class Checked:
    def __set__(self, instance, value):
        instance.__dict__["value"] = value


@Traced
def traced():
    return 1


@through_library
def wrapped():
    return 2


class Thing:
    value = Checked()
"""


def test_decorator_wrappers_are_run_by_callers_of_the_decorated() -> None:
    files = {
        "deco.py": DECORATING,
        "tests/test_x.py": """
        import deco

        def test_traced():
            deco.traced()

        def test_wrapped():
            deco.wrapped()

        def test_neither():
            pass
        """,
    }
    assert related("deco.py:Traced.entered", files) == {"tests/test_x.py::test_traced": "inferred"}
    inner = related("deco.py:through_library.replaced", files)
    assert inner == {"tests/test_x.py::test_wrapped": "inferred"}


def test_functions_and_classes_are_made_by_their_decorators() -> None:
    files = {
        "deco.py": """
        def retry(times):
            checked(times)
            return lambda function: function

        def checked(times): ...
        """,
        "shop.py": """
        import deco
        from deco import retry as again

        @deco.retry(3)
        def buy(): ...

        @again(2)
        class Shop:
            @again(1)
            async def open(self): ...
        """,
        "tests/test_x.py": """
        from shop import Shop, buy

        def test_buy():
            buy()

        async def test_open(shop: Shop):
            await shop.open()

        def test_other(): ...
        """,
    }
    for name in ("retry", "checked"):
        assert set(related(f"deco.py:{name}", files)) == {
            "tests/test_x.py::test_buy",
            "tests/test_x.py::test_open",
        }


def test_readers_of_constants_have_tests_of_their_module_or_class() -> None:
    files = {
        "shop/data.py": """
        LIMIT: int = 3
        CASES = [1]
        RATE = 2
        class Color(Enum):
            RED = 1
        class Conf:
            class Inner:
                deep = 1
        """,
        "shop/use.py": """
        from .data import LIMIT as most, Color
        from shop import data
        import shop.data
        import shop.data as again

        def default(x=most): return x
        async def attribute(): return again.RATE
        def member(color): return color is Color.RED
        def nested(): return [shop.data.Conf.Inner.deep]
        def other(RATE, deep): return RATE, deep.deep
        """,
        "shop/star.py": "from shop.data import *\ndef text(): return f'{RATE}'\n",
        "tests/test_x.py": """
        import pytest
        from shop import star, use
        from shop.data import CASES

        def test_default(): use.default()
        async def test_attribute(): await use.attribute()
        def test_member(): use.member(1)
        def test_nested(): use.nested()
        def test_other(): use.other(1, 2)
        def test_text(): star.text()

        @pytest.mark.parametrize("case", CASES)
        def test_cases(case): ...
        """,
    }
    tests = {"attribute", "cases", "default", "member", "nested", "text"}
    for node, names in {"__module__": tests, "Color": {"member"}, "Conf": {"nested"}}.items():
        found = related(f"shop/data.py:{node}", files)
        assert found == {f"tests/test_x.py::test_{name}": "inferred" for name in names}


def test_objects_made_in_a_class_body_are_used_by_instances() -> None:
    files = {
        "deco.py": DECORATING,
        "tests/test_x.py": """
        import deco

        def test_thing():
            deco.Thing().value = 1

        def test_none():
            deco.traced()
        """,
    }
    assert related("deco.py:Checked.__set__", files) == {"tests/test_x.py::test_thing": "inferred"}


def test_by_method_name_if_the_receiver_is_unknown() -> None:
    files = {
        "shop.py": """
        class Shop:
            def reprice(self):
                return 1

        class Other:
            def reprice(self):
                return 2

        def all_of(things):
            return [thing.reprice() for thing in things]
        """,
        "tests/test_x.py": """
        import shop

        def test_all(things):
            shop.all_of(things)

        def test_one():
            shop.Shop().reprice()
        """,
    }
    found = related("shop.py:Shop.reprice", files)
    assert found == {"tests/test_x.py::test_one": "exact", "tests/test_x.py::test_all": "possible"}
    files["shop.py"] = files["shop.py"].replace(
        "reprice(self):\n                return 2", "other(self): ..."
    )
    found = related("shop.py:Shop.reprice", files)
    assert found == {"tests/test_x.py::test_one": "exact", "tests/test_x.py::test_all": "unique"}


def test_nodes_that_are_used_but_not_called() -> None:
    test = """
        import pytest
        from app import unused as it

        def test_it():
            pytest.raises(ValueError, it)

        def test_other():
            pass
    """
    assert related("app.py:unused", test) == {"tests/test_x.py::test_it": "inferred"}


def test_a_match_by_test_name_has_the_lowest_tier() -> None:
    files = {
        "tests/test_app.py": "def test_unused():\n    pass\n\n\nclass TestCart:\n    def test_a(self):\n        pass\n",
        "tests/test_else.py": "def test_unused():\n    pass\n",
    }
    assert related("app.py:unused", files) == {"tests/test_app.py::test_unused": "unique"}
    assert set(related("app.py:__module__", files)) == {
        "tests/test_app.py::test_unused",
        "tests/test_app.py::TestCart::test_a",
    }


def test_a_class_has_the_tests_of_its_methods() -> None:
    test = """
        from app import Cart

        def test_total(cart: Cart):
            assert cart.total()
    """
    assert related("app.py:Cart", test) == {"tests/test_x.py::test_total": "exact"}


def test_methods_called_by_operators_are_run_by_users_of_instances() -> None:
    test = """
        from app import Cart

        def test_it(thing):
            assert thing == [Cart()]
    """
    assert related("app.py:Cart.__len__", test) == {"tests/test_x.py::test_it": "inferred"}


def test_an_unknown_node_has_none() -> None:
    assert related("app.py:nothing", {}) == {}
    assert related("nowhere.py:nothing", {}) == {}


def test_what_pytest_collects() -> None:
    assert is_test_file("tests/test_a.py")
    assert is_test_file("a_test.py")
    assert not is_test_file("tests/base.py")
    assert is_conftest("tests/conftest.py")
    assert pytest_id("a%25b/test_x.py", "TestA#2.test_b") == "a%b/test_x.py::TestA::test_b"
    assert pytest_id("%FF/test_x.py", "test_b") == "%FF/test_x.py::test_b"


@pytest.mark.slow
def test_a_long_chain_of_subclasses_is_followed() -> None:
    line = "".join(f"class C{at + 1}(C{at}): pass\n" for at in range(1600))
    text = f"class C0:\n    def m(self): pass\n{line}def z(): C1600().m()\n"
    view = MemorySnapshot({"line.py": read_facts("line.py", text.encode())})
    linker = Linker(view)
    linker.callers("node:line.py:C0.m")
    linker.callees("node:line.py:z")
    found = RelatedTests(linker, view)
    assert found.search("node:line.py:C0.m").tests == ()


def test_many_questions_do_not_list_all_files_each_time() -> None:
    class Counted(MemorySnapshot):
        lists = 0

        def paths(self) -> Collection[str]:
            Counted.lists += 1
            return super().paths()

    paths = [f"module_{number}.py" for number in range(20)]
    view = Counted({path: read_facts(path, b"def f(): ...\n") for path in paths})
    tests = RelatedTests(Linker(view), view)
    for path in paths:
        tests.search(f"node:{path}:f")
    assert Counted.lists < 5
