"""Each host function call has its own time limit."""

from pathlib import Path

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.errors import HostError
from remora.tools.host.text_files import list_files
from remora.tools.ruff_fixes import ruff_check
from remora.tools.tree import ToolTree


def test_a_call_whose_time_is_over_ends_at_its_next_step(tree: Path) -> None:
    (tree / "a.py").write_text("x = 1\n")
    place = ToolTree(tree)

    with place.within(-1.0):  # over before it began
        for call in (
            lambda: list_files(place, "**/*"),
            lambda: ruff_check(place, ["a.py"]),
        ):
            with pytest.raises(HostError, match="not finished within"):
                call()


def test_the_next_call_has_its_own_time(tree: Path) -> None:
    (tree / "a.py").write_text("x = 1\n")
    place = ToolTree(tree)
    with pytest.raises(HostError), place.within(-1.0):
        list_files(place, "*")

    with place.within(60.0):
        assert 0 < place.left() <= 60
        assert list_files(place, "*") == ["a.py"]


@pytest.mark.parametrize("name", BUILT_IN.host_functions)
def test_no_call_may_take_forever(name: str) -> None:
    assert 0 < BUILT_IN.host_functions[name].seconds <= 600
