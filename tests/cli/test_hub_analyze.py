"""`analyze` with a hub and without: the same work, other facts; and what `stale` looks like."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, lint_project, write
from tests.runs.conftest import Desk
from tests.runs.test_hub_facts import EDITED, LOAD, meddled

READ = "node:src/settings.py:read"
MODULE = "node:src/settings.py:__module__"
MORE = {
    "src/app.py": "from src.settings import read\n\n\ndef main():\n    return read('x')\n",
    "tests/test_settings.py": (
        "from src.settings import read\n\n\ndef test_read():\n    assert read('') == ''\n"
    ),
    # exact: facts are waited for, however busy the machine
    "remora.yaml": "model: {exact: true}\n",
}


class Side:
    """A user with the project and no model, who analyzed it."""

    def __init__(self, folder: Path, *, with_hub: bool) -> None:
        folder.mkdir()
        self.root = folder / "project"
        self.root.mkdir()
        lint_project(write(self.root, MORE))
        (folder / "home").mkdir()
        self.remora = Remora(folder / "home", {"XDG_RUNTIME_DIR": str(folder / "run")})
        if with_hub:
            self("hub", "start")
            self("hub", "index")  # what a hub has not looked at yet, it is busy with
        try:
            self.jobs = self("analyze", "src", "-o", "steps", "--json")["jobs"]
        finally:
            if with_hub:
                self("hub", "stop")

    def __call__(self, *words: str) -> Any:
        done = self.remora(*words, *([] if "--json" in words else ["--json"]), cwd=self.root)
        assert done.code == 0, done.err
        return json.loads(done.out)

    def packets(self, node: str) -> list[dict[str, Any]]:
        """Of the job on a node, as shown turn by turn, without what no two runs share."""
        (job,) = [job for job in self.jobs if job["node_id"] == node]
        found = []
        for turn in range(1, job["turns"] + 1):
            packet = self("trace", "packet", job["agent_id"], "--turn", str(turn), "--json")
            found.append({k: v for k, v in packet.items() if k not in ("agent_id", "run_id")})
        return found


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Side, Side]:
    """The same project, once with a hub that runs and once without."""
    folder = tmp_path_factory.mktemp("sides")
    one = Side(folder / "with", with_hub=True)
    return one, Side(folder / "without", with_hub=False)


def plain(packet: dict[str, Any]) -> dict[str, Any]:
    """A packet without facts of the Hub."""
    return {k: v for k, v in packet.items() if k not in ("hub_context", "hub_freshness")}


def test_with_a_hub_packets_hold_callers_tests_and_freshness(sides: tuple[Side, Side]) -> None:
    packet = sides[0].packets(READ)[0]
    facts = packet["hub_context"][READ]
    assert facts["callers"] == ["src/app.py:main", "tests/test_settings.py:test_read"]
    assert facts["tests"] == ["tests/test_settings.py::test_read"]
    assert "fresh" not in facts, "only what is not fresh is marked"
    assert packet["hub_freshness"][READ].startswith("20")


def test_without_one_they_hold_what_the_file_says(sides: tuple[Side, Side]) -> None:
    packet = sides[1].packets(READ)[0]
    assert packet["hub_context"][READ] == {"flags": ["type hints missing"], "complexity": 2}
    assert packet["hub_freshness"] == {}


def test_the_packets_are_the_same_but_for_facts_of_the_hub(sides: tuple[Side, Side]) -> None:
    one, other = sides
    assert [plain(packet) for packet in one.packets(MODULE)] == [
        plain(packet) for packet in other.packets(MODULE)
    ]
    assert [plain(packet) for packet in one.packets(READ)] == [
        plain(packet) for packet in other.packets(READ)
    ]


def test_streams_verify_without_the_hub(sides: tuple[Side, Side]) -> None:
    assert sides[0]("hub", "status")["running"] is False
    assert sides[0]("trace", "verify", "--all")["ok"] is True


def test_a_hub_that_is_asked_for_must_run(poor: Remora, project: Path) -> None:
    write(project, {"remora.yaml": "hub: {enabled: true}\n"})
    done = poor("analyze", "src", "-o", "steps", "--json", cwd=project)
    assert done.code == 3
    assert "remora hub start" in done.error["hint"]


def test_stale_changes_are_reported_and_retried(tmp_path: Path, models: Path) -> None:
    desk = Desk(tmp_path)
    (desk.home / ".cache/remora").mkdir(parents=True, mode=0o700)
    (desk.home / ".cache/remora/models").symlink_to(models)
    run_id = meddled(desk, {"a.py": EDITED})
    homely = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"), "")
    remora = Remora(desk.home, homely)
    shown = remora("show", run_id, cwd=desk.root)
    assert "stale" in shown.out
    assert "you edited it while the agent was working on it" in shown.out
    assert f"remora retry {run_id} a.py:load" in shown.out
    refused = remora("accept", run_id, "--all", "--json", cwd=desk.root)
    assert refused.code == 1
    (conflict,) = refused.document["conflicts"]
    assert (conflict["node_id"], conflict["path"]) == (LOAD, "a.py")
    told = remora("accept", run_id, "--all", cwd=desk.root)
    assert f"next: remora retry {run_id} a.py:load" in told.out
