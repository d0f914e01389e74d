import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.cli.engines.ray_nodes import RayCluster


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    """A real Ray cluster whose head has no CPUs. Tests add nodes to it, and remove them."""
    if find_spec("ray") is None:  # importing it takes a second
        pytest.skip("the extra `ray` is not installed")
    cluster = RayCluster(tmp_path_factory.mktemp("ray"), os.environ)
    yield cluster
    cluster.remove()
