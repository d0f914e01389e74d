"""A tree to work on, and the host functions bound to it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remora.errors import HostError
from remora.tools import HOST_FUNCTIONS, bind
from remora.tools.host.place import Place


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.fixture
def call(tree: Path) -> Callable[..., Any]:
    """Calls a host function by name on `tree`."""
    functions = bind(HOST_FUNCTIONS, Place(tree))
    return lambda name, *args, **kwargs: functions[name](*args, **kwargs)


@pytest.fixture
def refusal(call: Callable[..., Any]) -> Callable[..., str]:
    """The message of the HostError that a call raises."""

    def refused(*args: Any, **kwargs: Any) -> str:
        with pytest.raises(HostError) as caught:
            call(*args, **kwargs)
        return caught.value.message

    return refused
