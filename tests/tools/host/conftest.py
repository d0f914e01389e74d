"""A tree to work on, and the host functions bound to it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.errors import HostError
from remora.tools.host_functions import bind
from remora.tools.tree import ToolTree
from remora.workspaces.copy.driver_choice import make_driver
from remora.workspaces.copy.snapshot import BaseSnapshot
from tests.workspaces.conftest import skip_without


@pytest.fixture(params=["folder", pytest.param("layer", marks=pytest.mark.slow)])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """An empty folder, and an empty layer: whatever a workspace is, they work on it."""
    folder = tmp_path / "tree"
    folder.mkdir()
    if request.param == "folder":
        yield folder
        return
    skip_without("overlay", tmp_path)
    base = BaseSnapshot(root=folder, folder=folder, files={}, commit=None, differing={})
    driver = make_driver("overlay", base, tmp_path / "cache")
    with closing(driver), driver.open() as workspace:
        yield workspace.tree


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
