"""A tree to work on, and the host functions bound to it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.errors import HostError
from remora.tools.host_functions import bind
from remora.tools.tree import ToolTree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


@pytest.fixture
def call(tree: Path) -> Callable[..., Any]:
    """Calls a host function by name on `tree`."""
    functions = bind(BUILT_IN.host_functions.values(), ToolTree(tree))
    return lambda name, *args, **kwargs: functions[name](*args, **kwargs)


@pytest.fixture
def refusal(call: Callable[..., Any]) -> Callable[..., str]:
    """The message of the HostError that a call raises."""

    def refused(*args: Any, **kwargs: Any) -> str:
        with pytest.raises(HostError) as caught:
            call(*args, **kwargs)
        return caught.value.message

    return refused
