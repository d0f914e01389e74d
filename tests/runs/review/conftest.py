"""A project after a run whose change sets wait for a verdict."""

import pytest

from remora.memory.events import Review
from tests.runs.conftest import RULES, UNUSED, Desk, Kept, analyzed


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Four change sets of two files."""
    files = {"a.py": UNUSED, "b.py": UNUSED, "ruff.toml": RULES}
    return analyzed(tmp_path_factory.mktemp("shop"), files)


@pytest.fixture
def shop(kept: Kept) -> Desk:
    return kept.again()


def verdicts(desk: Desk) -> list[str]:
    return [review.verdict for review in desk.payloads(desk.newest, Review)]
