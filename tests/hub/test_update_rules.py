"""What a change makes it necessary to find anew, as a table."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.code.file_analysis import read_facts
from remora.hub.update_rules import (
    ChangeKind,
    ComputeComplexity,
    DeleteFileNodes,
    ExtractSignatures,
    FileChange,
    FindCallers,
    FindTests,
    Fingerprints,
    Known,
    RenameFile,
    RulesEngine,
    ScanImports,
    UpdateAction,
    fingerprints,
)
from remora.ids import NodeKey

CART = """
import os

class Cart:
    def total(self, items):
        return sum(items)

def checkout(cart):
    return cart.total([1])
"""
ALL = ("__module__", "Cart", "Cart.total", "checkout")


def keys(*names: str, path: str = "cart.py") -> tuple[NodeKey, ...]:
    return tuple(NodeKey(f"node:{path}:{name}") for name in names)


def prints(source: str | None, path: str = "cart.py") -> Fingerprints | None:
    return None if source is None else fingerprints(read_facts(path, source.encode()))


class Row(NamedTuple):
    what: str
    before: str | None
    after: str | None
    actions: tuple[UpdateAction, ...]


TABLE = (
    Row(
        "a new file: everything",
        None,
        CART,
        (
            ExtractSignatures("cart.py", ALL),
            ScanImports("cart.py"),
            ComputeComplexity("cart.py", ALL[1:]),
            FindCallers(keys(*ALL[1:])),
            FindTests(keys(*ALL[1:])),
        ),
    ),
    Row(
        "an empty new file",
        None,
        "",
        (
            ExtractSignatures("cart.py", ("__module__",)),
            ScanImports("cart.py"),
        ),
    ),
    Row("the same bytes", CART, CART, ()),
    Row("a comment between two nodes", CART, CART.replace("\ndef check", "# c\n\ndef check"), ()),
    Row("a blank line in front of a node", CART, "\n" + CART, ()),
    Row(
        "a function's body",
        CART,
        CART.replace("cart.total([1])", "cart.total([1]) or 0"),
        (
            ComputeComplexity("cart.py", ("checkout",)),
            FindTests(keys("checkout")),
        ),
    ),
    Row(
        "a method's body, which is the class's too",
        CART,
        CART.replace("sum(items)", "0"),
        (
            ComputeComplexity("cart.py", ("Cart", "Cart.total")),
            FindTests(keys("Cart", "Cart.total")),
        ),
    ),
    Row(
        "a signature alone",
        CART,
        CART.replace("checkout(cart)", "checkout(cart, *, dry=False)"),
        (
            ExtractSignatures("cart.py", ("checkout",)),
            FindCallers(keys("checkout")),
        ),
    ),
    Row(
        "a decorator alone",
        CART,
        CART.replace("def checkout", "@cached\ndef checkout"),
        (
            ExtractSignatures("cart.py", ("checkout",)),
            FindCallers(keys("checkout")),
        ),
    ),
    Row(
        "a docstring alone",
        CART,
        CART.replace("class Cart:", "class Cart:\n    '''A cart.'''\n"),
        (
            ExtractSignatures("cart.py", ("Cart",)),
            FindCallers(keys("Cart")),
        ),
    ),
    Row(
        "the imports",
        CART,
        CART.replace("import os", "import sys"),
        (ScanImports("cart.py"),),
    ),
    Row(
        "a function is renamed",
        CART,
        CART.replace("def checkout", "def pay"),
        (
            ExtractSignatures("cart.py", ("pay",)),
            ComputeComplexity("cart.py", ("pay",)),
            FindCallers(keys("pay", "checkout")),
            FindTests(keys("pay")),
        ),
    ),
    Row(
        "a function is removed",
        CART,
        CART[: CART.index("\ndef checkout")],
        (FindCallers(keys("checkout")),),
    ),
    Row(
        "the file is deleted",
        CART,
        None,
        (
            DeleteFileNodes("cart.py"),
            FindCallers(keys(*ALL[1:])),
            FindTests(keys(*ALL[1:])),
        ),
    ),
    Row("a file is deleted that was never known", None, None, ()),
)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.what)
def test_a_change_and_what_is_known_give_the_actions(row: Row) -> None:
    kinds: dict[tuple[bool, bool], ChangeKind] = {
        (False, True): "created",
        (True, True): "modified",
    }
    kind = kinds.get((row.before is not None, row.after is not None), "deleted")
    change = FileChange(kind=kind, path="cart.py", now=prints(row.after))
    assert RulesEngine().actions(change, prints(row.before)) == row.actions


def test_a_moved_file_keeps_what_its_place_does_not_change() -> None:
    change = FileChange(kind="renamed", path="b.py", before="a.py", now=prints(CART, "b.py"))
    assert RulesEngine().actions(change, prints(CART, "a.py")) == (
        RenameFile("a.py", "b.py"),
        ScanImports("b.py"),
        FindCallers(keys(*ALL[1:], path="b.py")),
        FindTests(keys(*ALL[1:], path="b.py")),
    )


def test_a_moved_file_of_which_nothing_is_known_is_a_new_one() -> None:
    moved = FileChange(kind="renamed", path="b.py", before="a.py", now=prints(CART, "b.py"))
    new = FileChange(kind="created", path="b.py", now=prints(CART, "b.py"))
    engine = RulesEngine()
    assert engine.actions(moved, None) == (RenameFile("a.py", "b.py"), *engine.actions(new, None))


def test_what_could_only_be_saved_of_a_broken_file_is_recomputed_once_it_is_whole() -> None:
    broken = Known(file_hash="1", partial=True, nodes=read_facts("cart.py", CART.encode()).nodes)
    change = FileChange(kind="modified", path="cart.py", now=prints(CART))
    assert RulesEngine().actions(change, fingerprints(broken)) == TABLE[0].actions


sources = st.lists(
    st.sampled_from(
        ("import os", "def f(): ...", "def f(a): return a or 1", "class C:\n  def f(self): ...")
    ),
    max_size=5,
).map("\n".join)


@given(sources, sources)
def test_the_same_change_gives_the_same_actions_and_names_no_node_that_is_not_there(
    before: str, after: str
) -> None:
    change = FileChange(kind="modified", path="cart.py", now=prints(after))
    actions = RulesEngine().actions(change, prints(before))
    assert actions == RulesEngine().actions(change, prints(before))
    there = {node.qualname for node in read_facts("cart.py", after.encode()).nodes}
    for action in actions:
        if isinstance(action, ExtractSignatures | ComputeComplexity):
            assert set(action.nodes) <= there
    assert (actions == ()) >= (before == after)
