"""Other writers, links, full and read-only disks, and odd clocks are reported, and nothing is lost."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remora.runs.records.run_stream import open_run
from remora.trace.read.reader import read_events
from tests.forked_process import warm
from tests.platform_facilities import PASSED_ON
from tests.runs.conftest import RULES, UNUSED, Desk, Kept, analyzed

REMORA = f"{shlex.quote(sys.executable)} -m remora"


class Done:
    """A command that ended: for people on stderr, one document on stdout, never a traceback."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.err = err
        assert "Traceback" not in out + err
        self.document: Any = json.loads(out)

    @property
    def error(self) -> dict[str, str]:
        found: dict[str, str] = self.document["error"]
        assert found["message"]
        assert found["message"] in self.err
        return found


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return analyzed(tmp_path_factory.mktemp("ran"), {"a.py": UNUSED, "ruff.toml": RULES})


@pytest.fixture
def ran(waiting: Kept) -> Desk:
    """A user whose run waits for a verdict on two nodes."""
    return waiting.again()


def environment(desk: Desk) -> dict[str, str]:
    return {"HOME": str(desk.home), "PATH": os.environ["PATH"], **PASSED_ON}


def remora(desk: Desk, *words: str) -> Done:
    out, err = desk.folder / "out", desk.folder / "err"
    line = ["remora", *words, "--json"]
    code = warm().run(line, cwd=desk.root, environ=environment(desk), out=out, err=err)
    return Done(code, out.read_text(), err.read_text())


def mounted(desk: Desk, script: str) -> list[Done]:
    """Run a shell script that may mount disks; what each `remora … --json` in it came to."""
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("this user may not mount")
    place = Path(tempfile.mkdtemp(dir=desk.folder))
    remora = (
        f'remora() {{ n=$((n + 1)); code=0; {REMORA} "$@" --json >{place}/$n.out 2>{place}/$n.err'
        f" || code=$?; echo $code >{place}/$n.code; }}"
    )
    ended = subprocess.run(
        ["unshare", "-m", "sh", "-euc", f"n=0; {remora}\n{script}"],
        cwd=desk.root,
        env=environment(desk),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return [
        Done(int(code.read_text()), *(code.with_suffix(s).read_text() for s in (".out", ".err")))
        for code in sorted(place.glob("*.code"), key=lambda path: int(path.stem))
    ]


def files(desk: Desk) -> dict[str, bytes]:
    found = sorted(desk.project.trace.path.rglob("*"))
    return {str(path): path.read_bytes() for path in found if path.is_file()}


class TestTwoWriters:
    @pytest.mark.needs("/proc")
    @pytest.mark.parametrize(
        "words", [("accept", "--untested", "last", "--all"), ("reject", "last", "--all")]
    )
    def test_a_decision_during_a_write_names_the_writer(
        self, words: tuple[str, ...], ran: Desk
    ) -> None:
        before, tree = files(ran), ran.tree()
        with open_run(ran.project, ran.newest):
            done = remora(ran, *words)
        assert done.code == 3
        assert done.error["code"] == "stream_locked"
        assert f"process {os.getpid()}" in done.error["message"]
        assert "wait" in done.error["hint"]
        assert (files(ran), ran.tree()) == (before, tree)


class TestLinks:
    def test_a_stream_that_is_a_link_is_neither_read_nor_written(
        self, ran: Desk, tmp_path: Path
    ) -> None:
        path = ran.project.trace.run_stream(ran.newest)
        elsewhere = path.rename(tmp_path / "elsewhere")
        path.symlink_to(elsewhere)
        before = elsewhere.read_bytes()
        for words in (
            ("reject", ran.newest, "--all"),
            ("accept", "--untested", ran.newest, "--all", "--trust-run"),
            ("show", ran.newest),
        ):
            done = remora(ran, *words)
            assert done.code in (1, 3), words
            assert path.name in done.error["message"]
        assert elsewhere.read_bytes() == before


class TestDisks:
    @pytest.mark.slow
    def test_a_full_disk_is_reported_of_and_what_was_there_stays(self, ran: Desk) -> None:
        """A small disk of its own: full, then with room again."""
        full, sound, again, at_last = mounted(
            ran,
            "cp -a .agentfs kept; mount -t tmpfs -o size=2m,mode=700 tmpfs .agentfs\n"
            "cp -a kept/. .agentfs/; rm -r kept\n"
            "cat /dev/zero >.agentfs/ballast 2>/dev/null || true\n"
            "remora reject last --all --feedback $(printf %09000d 0); remora trace verify --all\n"
            "rm .agentfs/ballast; remora reject last --all; remora trace verify --all\n",
        )
        assert full.code == 3
        assert full.error["code"] in ("stream_write_failed", "disk_error")
        assert "space" in full.error["message"] + full.error["hint"]
        assert (sound.code, sound.document["ok"]) == (0, True)
        assert (again.code, len(again.document["rejected"])) == (0, 2)
        assert (at_last.code, at_last.document["ok"]) == (0, True)

    @pytest.mark.slow
    def test_records_that_cannot_be_written_can_be_read(self, ran: Desk) -> None:
        before = files(ran)
        reject, accept, verify = mounted(
            ran,
            "mount --bind .agentfs .agentfs; mount -o remount,bind,ro .agentfs\n"
            "remora reject last --all; remora accept last --all; remora trace verify --all\n",
        )
        for done in (reject, accept):
            assert done.code == 3
            assert ".agentfs" in done.error["message"]
            assert done.error["hint"]
        assert (verify.code, verify.document["ok"]) == (0, True)
        assert files(ran) == before


@pytest.fixture
def jumping() -> Callable[[], datetime]:
    """A clock that is set back by an hour again and again."""
    times = iter(range(100_000))
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def clock() -> datetime:
        number = next(times)
        return start + timedelta(seconds=number) - timedelta(hours=number // 7)

    return clock


@pytest.mark.slow
def test_a_clock_that_jumps_back_changes_no_order(
    desk: Desk, jumping: Callable[[], datetime]
) -> None:
    desk.write({"a.py": UNUSED, "ruff.toml": RULES})
    run_id = desk.analyze(clock=jumping)
    paths = [*desk.project.trace.agent_streams(), desk.project.trace.run_stream(run_id)]
    for path in paths:
        events = list(read_events(path))
        stamps = [event.timestamp for event in events]
        assert [event.seq for event in events] == list(range(len(events)))
        assert path.parent.name == "runs" or stamps != sorted(stamps)
    assert desk.problems() == []
    assert len(remora(desk, "accept", "--untested", "last", "--all").document["accepted"]) == 2
