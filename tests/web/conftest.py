"""A project with an agent that failed, recorded once by a real run."""

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from tests.cli.conftest import user_without_weights
from tests.diagnosis.planted_failures import SUMMARY_LOST, Planted, plant
from tests.web.recorded import client_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# slow tests, whose packages `make setup-all` installs
collect_ignore_glob = (
    [] if os.environ.get("TEST_ALL") or find_spec("playwright") else ["test_*browser.py"]
)


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A browser that the tests of a module share.

    It ends with them, because no other event loop can run beside it in its thread.
    """
    from tests.browser import started_browser

    with started_browser() as found:
        yield found


@pytest.fixture(scope="session")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """An agent whose summary lost an error. Tests must not change its files."""
    place = tmp_path_factory.mktemp("pages")
    return plant(SUMMARY_LOST, place / "project", user_without_weights(place / "home"))


@pytest.fixture
def pages(failed: Planted, tmp_path: Path) -> Iterator[TestClient]:
    """A client of the pages of that project."""
    with client_of(failed.root, tmp_path) as client:
        yield client


@pytest.fixture
def copied(failed: Planted, tmp_path: Path) -> Path:
    """A copy of that project, whose streams may be changed."""
    return Path(shutil.copytree(failed.root, tmp_path / "project", symlinks=True))
