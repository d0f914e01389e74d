"""What is written without being taken apart is what would have been written anyway."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.memory.encode_values import is_stored_unchanged
from remora.memory.events import Change, ContextUpdate, ToolResulted
from remora.trace.stream.emitters import NullEventEmitter
from tests.clock import ticking
from tests.trace.conftest import agent_identity

LEAVES = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.integers(2**63 - 2, 2**64 + 2)
    | st.binary(max_size=9)
    | st.text(st.characters(), max_size=9)
    | st.sampled_from(["$float", "$text", "$blob", "\ud800"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["$int", "$$at"]), inner)
        | st.dictionaries(LEAVES, inner, max_size=2)
    ),
)


@given(value=VALUES)
def test_the_line_is_the_same_either_way(value: Any) -> None:
    payload = ContextUpdate(source="hub", value=value, host_calls=[value])
    with pytest.MonkeyPatch.context() as patch:
        fast = NullEventEmitter(agent_identity(), ticking()).emit(payload, turn=1)
        patch.setattr("remora.trace.stream.line_builder.is_stored_unchanged", lambda _: False)
        slow = NullEventEmitter(agent_identity(), ticking()).emit(payload, turn=1)
    assert fast == slow


def test_ordinary_values_are_stored_unchanged() -> None:
    """Else nothing would be gained."""
    change = Change(path="a.py", before=None, after="0" * 64, mode=0o644)
    result = ToolResulted(
        tool="apply_fix",
        args={"line": 1, "codes": ["F401"]},
        raw_output={"é": [1, 2.5, None, True, {}], "deep": [[[[{"a": [1]}]]]]},
        changes=(change,),
    )
    assert is_stored_unchanged(result)


def test_cyclic_values_are_not_inspected() -> None:
    around: list[Any] = []
    around.append(around)
    assert not is_stored_unchanged(around)
