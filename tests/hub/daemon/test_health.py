"""How the daemon is: its memory, its root, its log."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.hub.daemon.health import (
    OVER_S,
    REPLACE_AGAIN_S,
    ROOT_GONE_S,
    HealthCheck,
    memory_mb,
    release_memory,
)
from remora.usecases.hub.run_daemon import MAX_BYTES, log_to


@pytest.mark.needs("/proc")
def test_memory_is_measured_and_given_back() -> None:
    used = memory_mb()
    assert used is not None
    assert 5 < used < 100_000
    release_memory()


def test_with_enough_memory_and_a_root_it_continues(tmp_path: Path) -> None:
    vitals = HealthCheck(tmp_path, memory_mb=100_000, restarted=None)
    assert vitals.verdict(0.0, settled=True) is None
    assert vitals.notes == ()


@pytest.mark.slow
def test_with_too_little_it_starts_again_but_not_again_and_again(tmp_path: Path) -> None:
    first = HealthCheck(tmp_path, memory_mb=1, restarted=None)
    assert first.verdict(5.0, settled=False) is None
    assert first.verdict(5.0 + OVER_S - 1, settled=True) is None  # a moment's need passes
    assert first.verdict(5.0 + OVER_S, settled=False) is None
    verdict = first.verdict(5.0 + OVER_S, settled=True)
    assert verdict is not None
    assert verdict[0] == "restart"
    again = HealthCheck(tmp_path, memory_mb=1, restarted=5.0)
    assert again.verdict(5.0, settled=True) is None
    assert again.verdict(5.0 + REPLACE_AGAIN_S - 1, settled=True) is None
    assert "hub.memory_mb is 1" in again.notes[0]
    assert again.verdict(5.0 + REPLACE_AGAIN_S, settled=True) is not None


def test_a_missing_root_is_waited_for_a_minute(tmp_path: Path) -> None:
    root = tmp_path / "root"
    vitals = HealthCheck(root, memory_mb=100_000, restarted=None)
    assert vitals.verdict(0.0, settled=True) is None
    assert vitals.notes == ("the root no longer exists",)
    root.mkdir()
    assert vitals.verdict(ROOT_GONE_S + 1, settled=True) is None
    root.rmdir()
    assert vitals.verdict(ROOT_GONE_S + 2, settled=True) is None
    verdict = vitals.verdict(2 * ROOT_GONE_S + 3, settled=True)
    assert verdict is not None
    assert verdict[0] == "stopped"


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    return tmp_path / "hub.db.log"


@pytest.fixture(autouse=True)
def _handlers_as_they_were() -> Iterator[None]:
    root = logging.getLogger()
    before, level = list(root.handlers), logging.getLogger("remora.hub").level
    yield
    for handler in [one for one in root.handlers if one not in before]:
        root.removeHandler(handler)
        handler.close()
    logging.getLogger("remora.hub").setLevel(level)


def test_the_log_is_private_and_bounded(logged: Path) -> None:
    log_to(logged)
    for _ in range(3000):
        logging.getLogger("remora.hub").info("%s", "x" * 1000)
    files = sorted(logged.parent.iterdir())
    assert [path.name for path in files] == ["hub.db.log", "hub.db.log.1"]
    for path in files:
        assert path.stat().st_size <= MAX_BYTES + 2000
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_behind_a_link_is_not_written(logged: Path, tmp_path: Path) -> None:
    logged.symlink_to(tmp_path / "elsewhere")
    log_to(logged)
    logging.getLogger("remora.hub").info("said")
    assert not (tmp_path / "elsewhere").exists()


def test_a_disk_that_is_full_costs_lines_and_nothing_else() -> None:
    if not os.path.exists("/dev/full"):  # noqa: PTH110 (a device)
        pytest.skip("no /dev/full here")
    log_to(Path("/dev/full"))
    logging.getLogger("remora.hub").info("said")
