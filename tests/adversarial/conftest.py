"""The world that is attacked, made anew for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adversarial.attack_targets import World

collect_ignore = ["attacks"]  # they are run inside, by what is tested


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("WORLD_TOKEN", "world-secret")
    made = World(tmp_path.resolve() / "world")
    yield made
    made.close()
