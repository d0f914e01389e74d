"""A recorded project, made once."""

from pathlib import Path

import pytest

from remora.bootstrap.invocation import Invocation
from tests.cli.conftest import Remora, new_repository, write
from tests.mcp.project import FILES, invocation_in


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Path:
    """A project with a recorded run of the lint operation, whose changes are pending."""
    root = write(tmp_path_factory.mktemp("shop"), FILES)
    new_repository(root)
    done = Remora(home)("analyze", "-o", "lint", "--quiet", cwd=root)
    assert done.code == 0, done.err
    return root


@pytest.fixture
def invocation(project: Path, home: Path) -> Invocation:
    return invocation_in(project, home)
