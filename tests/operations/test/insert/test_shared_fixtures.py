"""Tests of a new file that begin with the same statements share a fixture."""

import pytest

from remora.operations.test import file_tests
from remora.operations.test.insert.added_tests import added_tests, merge_added_tests
from remora.operations.test.insert.removed_tests import remove_added_tests
from remora.operations.test.insert.shared_fixtures import with_fixture

SETUP = "    c = Cart()\n    c.add('fig', 3)\n    c.add('pear', 2)\n"
TOTAL = f"def test_total():\n{SETUP}    assert c.total() == 5\n"
TAKE = f"def test_take():\n{SETUP}\n    c.take('fig')\n    assert 'fig' not in c\n"
OTHER = "def test_owner():\n    assert Cart('Ann').owner == 'Ann'\n"
REPEATED = "from shop import Cart\n\n\n" + "\n\n".join((TOTAL, OTHER, TAKE))
SHARED = f"""\
import pytest

from shop import Cart


@pytest.fixture
def cart():
{SETUP}    return c


def test_total(cart):
    assert cart.total() == 5


{OTHER}

def test_take(cart):
    cart.take('fig')
    assert 'fig' not in cart
"""
ANNOTATED = REPEATED.replace("():\n", "() -> None:\n")
NAMES = ["test_total", "test_owner", "test_take"]


def test_the_same_preparation_becomes_a_fixture_with_the_name_of_the_class() -> None:
    found = with_fixture(REPEATED, 88)
    assert found.replace("import pytest\nfrom", "import pytest\n\nfrom") == SHARED


def test_the_fixture_of_annotated_tests_is_annotated() -> None:
    found = with_fixture(ANNOTATED, 88)
    assert "def cart() -> Cart:\n" in found
    assert "def test_total(cart: Cart) -> None:\n    assert cart.total() == 5\n" in found


@pytest.mark.parametrize("function", ["loads", "open", "Filter", "Class"])
def test_no_fixture_is_named_after_a_function_or_hides_a_builtin(function: str) -> None:
    found = with_fixture(REPEATED.replace("Cart()", f"{function}()"), 88)
    assert "def c():\n" in found
    assert "def test_total(c):\n    assert c.total() == 5\n" in found


def test_tests_that_do_not_use_the_object_keep_their_statements() -> None:
    unused = f"\n\ndef test_stop():\n{SETUP}    assert stop() == 1\n"
    found = with_fixture(REPEATED + unused, 88)
    assert "def test_total(cart):" in found
    assert found.endswith(unused)


@pytest.mark.parametrize(
    "text",
    [
        REPEATED.replace("    c.add('pear', 2)\n", ""),
        REPEATED.replace("'pear', 2", "'pear', 1", 1),
        REPEATED.replace("test_owner", "cart"),
        REPEATED.replace("    assert c.total", "    c = Cart()\n    assert c.total"),
        ANNOTATED.replace("Cart()", "new_cart()"),
        REPEATED.replace("c =", "request =").replace("c.", "request."),
        REPEATED.replace("c =", "test_cart =").replace("c.", "test_cart."),
        REPEATED.replace("c.total()", "c.total(lambda c: c + 1)"),
        ANNOTATED.replace("c.add('pear', 2)", "c = c.part('fig')"),
        REPEATED.replace("'fig' not in c", "True").replace("c.take('fig')", "stop()"),
    ],
    ids=[
        "short",
        "different",
        "name in use",
        "assigned again",
        "annotated, class unknown",
        "named request",
        "named like a test",
        "parameter",
        "another class at last",
        "used once",
    ],
)
def test_others_stay_as_they_are(text: str) -> None:
    assert with_fixture(text, 88) == text


def test_a_fixture_comes_and_goes_with_its_tests() -> None:
    new = SHARED.encode()
    assert added_tests("test_shop.py", None, new) == NAMES
    assert added_tests("test_shop.py", b"", new) == "test_shop.py: more than tests was changed"
    mine = b"import os\n\n\ndef test_mine():\n    assert os\n"
    merged = merge_added_tests("test_shop.py", None, new, mine, 88) or b""
    assert b"def cart():" in merged
    assert remove_added_tests("test_shop.py", None, new, new) == b""
    left = remove_added_tests("test_shop.py", None, new, merged) or b""
    assert left.split() == mine.split()
    used = new + b"\n\ndef test_mine(cart):\n    assert cart\n"
    left = remove_added_tests("test_shop.py", None, new, used) or b""
    assert b"def cart():" in left
    assert b"test_take" not in left


def test_a_test_mentions_what_its_fixture_mentions() -> None:
    found = file_tests.tests_by_function(
        SHARED.encode(), NAMES, ["Cart.take", "Box.take"], "test_shop.py"
    )
    assert found == {"Cart.take": ["test_take"]}
