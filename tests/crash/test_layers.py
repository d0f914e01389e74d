"""kill -9 while a run works in layers: they end with it, and another process goes on in new ones."""

import time
from pathlib import Path

import pytest

from tests.crash.conftest import descendants, gone_within, run, start
from tests.runs.conftest import SHOP, Desk
from tests.workspaces.conftest import skip_without


@pytest.fixture
def layered(desk: Desk, tmp_path: Path) -> Desk:
    """A user whose project is worked on in layers."""
    skip_without("overlay", tmp_path)
    desk.write({**SHOP, "remora.yaml": "workspace: {driver: overlay}\n"})
    desk.commit()
    return desk


@pytest.mark.slow
@pytest.mark.parametrize("events", [14, 45])
def test_another_process_continues(layered: Desk, events: int) -> None:
    before = layered.tree()
    status, (run_id,) = run(layered, "analyze", events)
    assert status == -9
    assert list((layered.project.cache / "layers").iterdir()) == [], "what was written is gone"
    layered.resume(run_id=run_id)
    view = layered.view(run_id)
    assert view.status == "ended"
    assert {job.status for job in view.jobs} == {"submitted"}
    assert layered.problems() == []
    assert layered.tree() == before


@pytest.mark.slow
def test_the_process_that_keeps_them_ends_too(layered: Desk) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    process = start(layered, "analyze", 10**9)
    assert process.stdout is not None
    process.stdout.readline()
    children: dict[int, str] = {}
    end = time.monotonic() + 30
    while not any(_keeps(pid) for pid in children):
        assert process.poll() is None, "it ended, and nobody was seen who kept its layers"
        assert time.monotonic() < end
        children |= descendants(process.pid)
    process.kill()
    process.communicate()
    assert gone_within(children, 10)
    assert Path("/proc/self/mountinfo").read_text() == mounts


def _keeps(pid: int) -> bool:
    try:
        return "child.layer_mounts" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
