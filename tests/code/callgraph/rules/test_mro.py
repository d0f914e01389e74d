"""The MRO equals Python's own, and a long chain of classes is fast."""

import time

from hypothesis import given
from hypothesis import strategies as st

from remora.code.callgraph.abstract_values import CLASS, Value
from remora.code.callgraph.rules.hierarchy import linearize

_BASES = st.lists(st.lists(st.integers(0, 7), max_size=3, unique=True), min_size=1, max_size=8)


def of(number: int) -> Value:
    return (CLASS, "m.py", number)


@given(_BASES)
def test_the_mro_equals_the_one_of_python(bases: list[list[int]]) -> None:
    made: list[type] = []
    orders: list[list[Value]] = []
    for number, listed in enumerate(bases):
        above = [base for base in listed if base < number]
        try:
            made.append(type(str(number), tuple(made[base] for base in above), {}))
        except TypeError:  # Python refuses it; the result still has all bases
            found = linearize(of(number), [orders[b] for b in above], [of(b) for b in above])
            assert set(found) == {of(number), *(v for base in above for v in orders[base])}
            return
        orders.append(
            linearize(of(number), [orders[base] for base in above], [of(b) for b in above])
        )
        assert orders[-1] == [of(int(each.__name__)) for each in made[-1].__mro__[:-1]]


def test_a_class_that_derives_from_itself_appears_once() -> None:
    assert linearize(of(0), [[of(1), of(0)]], [of(1)]) == [of(0), of(1)]


def test_a_chain_of_hundreds_of_classes_is_fast() -> None:
    began = time.process_time()
    order: list[Value] = [of(0)]
    for number in range(1, 800):
        order = linearize(of(number), [order, [of(0)]], [order[0], of(0)])
    assert order[0] == of(799)
    assert time.process_time() - began < 60  # of what would be minutes
