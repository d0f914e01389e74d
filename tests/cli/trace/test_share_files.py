"""`trace export --format html` as its users have it."""

import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, user_without_weights
from tests.diagnosis.planted_failures import TOOL_CRASH, Planted, plant


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Remora:
    return user_without_weights(tmp_path_factory.mktemp("user") / "home")


@pytest.fixture(scope="module")
def crashed(user: Remora, tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return plant(TOOL_CRASH, tmp_path_factory.mktemp("crashed") / "project", user)


def test_an_agent_by_its_node_to_a_private_file(
    user: Remora, crashed: Planted, tmp_path: Path
) -> None:
    file = tmp_path / "agent.html"
    done = user("trace", "export", "total", "--format", "html", "-o", file, cwd=crashed.root)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("1 agent, ")
    assert done.out.endswith(f"{file}\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f'id="{crashed.agent_id}" data-view' in file.read_text()


def test_a_run_to_stdout_and_as_json(user: Remora, crashed: Planted, tmp_path: Path) -> None:
    words = ("trace", "export", "--run", "last", "--format", "html")
    done = user(*words, cwd=crashed.root)
    assert done.out.startswith("<!doctype html>\n")
    assert done.out.endswith("</html>\n")
    told = user(*words, "-o", tmp_path / "run.html", "--json", cwd=crashed.root).document
    assert (told["format"], told["agents"]) == ("html", 1)
    assert [stream["ok"] for stream in told["streams"]] == [True, True]
    assert user("trace", "export", "last", "--format", "html", cwd=crashed.root).code == 0


def test_what_cannot_be_shared_is_named(user: Remora, crashed: Planted) -> None:
    everything = user("trace", "export", "--all", "--format", "html", cwd=crashed.root)
    assert everything.code == 2
    assert "one agent or one run" in everything.err
    nobody = user("trace", "export", "nobody", "--format", "html", cwd=crashed.root)
    assert nobody.code == 1
    assert nobody.out == ""
