"""What the platform offers, and what `REMORA_TEST_POSIX=1` turns off."""

import re
from pathlib import Path

import pytest

import remora
from remora.facilities import FACILITIES, POSIX_VARIABLE, proc_path
from remora.hub.members.members import Members
from remora.hub.watch.watcher import open_watcher
from remora.sandbox.isolation import best_level, level_problem
from tests.platform_facilities import need_facility

SOURCES = Path(remora.__path__[0])
ASKS = re.compile(r"""sys\.platform|platform\.system|["'/]proc/|inotify_init1\b""")
ANSWERS = ("facilities.py", "sandbox/child/", "sandbox/isolation_probe.py", "hub/watch/inotify_")
"""The module, and what uses a facility after it was found, or runs without the package."""


@pytest.mark.parametrize("name", FACILITIES)
def test_linux_offers_each_facility(name: str) -> None:
    need_facility(name)
    is_offered, lost = FACILITIES[name]
    assert is_offered()
    assert lost


@pytest.mark.parametrize("name", FACILITIES)
def test_the_variable_turns_each_facility_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POSIX_VARIABLE, "1")
    is_offered, _ = FACILITIES[name]
    assert not is_offered()


def test_without_proc_no_path_in_it_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POSIX_VARIABLE, "1")
    assert not proc_path("self/stat").exists()
    assert not proc_path().is_dir()
    with pytest.raises(OSError, match="Not a directory"):
        proc_path("locks").read_text()


def test_other_systems_isolate_at_no_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POSIX_VARIABLE, "1")
    assert best_level() == 0
    assert {level_problem(level) for level in (1, 2, 3)} == {
        "this system has neither Landlock nor namespaces"
    }


def test_other_systems_watch_by_comparing_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSIX_VARIABLE, "1")
    watcher = open_watcher(tmp_path, Members(tmp_path))
    assert (watcher.kind, watcher.healthy) == ("sweep", False)
    assert watcher.note.startswith("this system has no inotify")


def test_no_other_module_asks_what_the_platform_offers() -> None:
    asking = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if ASKS.search(path.read_text("utf-8"))
    }
    assert "facilities.py" in asking
    assert [path for path in sorted(asking) if not path.startswith(ANSWERS)] == []
