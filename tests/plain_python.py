"""An environment of a project that has pytest and Hypothesis, but none of our own plugins."""

import shutil
import venv
from importlib.metadata import files
from itertools import chain

import pytest

from remora.sandbox.interpreters import ProjectPython
from tests.isolation_levels import need

_DISTRIBUTIONS = (
    "pytest", "pluggy", "iniconfig", "packaging", "pygments", "hypothesis", "sortedcontainers",
)  # fmt: skip


@pytest.fixture(scope="session")
def plain_python(tmp_path_factory: pytest.TempPathFactory) -> ProjectPython:
    """The interpreter of the environment, which may run code of a project in a sandbox."""
    need(2)
    folder = tmp_path_factory.mktemp("plain")
    venv.create(folder / "env", symlinks=True)
    (packages,) = folder.glob("env/lib/python3*/site-packages")
    for file in chain.from_iterable(files(name) or () for name in _DISTRIBUTIONS):
        # without metadata, whose entry points name plugins
        if ".." not in file.parts and not file.parts[0].endswith(".dist-info"):
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file.locate(), target)
    return ProjectPython(python=folder / "env" / "bin" / "python", root=folder / "project")
