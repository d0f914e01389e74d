"""Agents that came with a cloned repository: what their scripts and definitions cannot do."""

import shutil
from pathlib import Path

import pytest

from remora.agents.definition.agent import MAX_PROJECT_AGENTS, load_agents
from remora.agents.definition.scaffold import create_agent
from remora.bootstrap.operations import BUILT_IN
from remora.errors import ConfigError
from tests.cli.conftest import Remora, lint_project, write

YAML = "name: own\noperation: own\ngoal: go\ntools:\n  - {name: act, script: act.pym, grants: [GRANTS]}\n"
HEAD = "from remora.pym import Input, external\n"
WRITE = HEAD + "@external\ndef write_new_file(path: str, text: str) -> dict: ...\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return lint_project(tmp_path / "project")


@pytest.fixture
def poor(tmp_path: Path) -> Remora:
    """A user without the weights."""
    (tmp_path / "home").mkdir()
    return Remora(tmp_path / "home")


def own(root: Path, script: str = "1\n", grants: str = "", name: str = "own") -> Path:
    folder = root / ".remora" / "agents" / name
    write(folder, {"agent.yaml": YAML.replace("GRANTS", grants), "act.pym": script})
    return folder


@pytest.mark.parametrize("path", ["new.txt", "folder/new.txt"])
def test_an_own_agent_changes_the_copy_and_not_the_project(
    poor: Remora, project: Path, tmp_path: Path, path: str
) -> None:
    (tmp_path / "outside").mkdir()
    (project / "folder").symlink_to(tmp_path / "outside")  # a link is not in the copy
    own(project, WRITE + f"write_new_file('{path}', 'x')\n", "write_new_file")
    assert poor("tools", "run", "own/act", cwd=project).code == 0
    assert not (project / path).exists()
    assert not list((tmp_path / "outside").iterdir())


def test_an_own_agent_runs_only_when_named(poor: Remora, project: Path) -> None:
    own(project)
    planned = poor("analyze", "--dry-run", "--json", cwd=project).document
    assert {job["operation"] for job in planned["jobs"]} <= {"lint", "docstring"}


@pytest.mark.parametrize("what", ["folder", "agents", ".remora", "script"])
def test_a_link_out_of_the_project_is_refused(
    poor: Remora, project: Path, tmp_path: Path, what: str
) -> None:
    shutil.rmtree(project / ".remora")
    folder = own(project)
    place = {
        "folder": folder,
        "agents": folder.parent,
        ".remora": folder.parents[1],
        "script": folder / "act.pym",
    }[what]
    shutil.move(place, tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    done = poor("agents", "validate", "--json", cwd=project)
    assert done.code == 2
    (wrong,) = [one for one in done.document["agents"] if not one["ok"]]
    assert ("is outside the agent" if what == "script" else "is a link to a file outside") in wrong[
        "error"
    ]
    assert poor("analyze", "-o", "own", cwd=project).code == 2
    assert poor("tools", "run", "own/act", cwd=project).code == 2
    named = poor("agents", "validate", ".remora/agents/own", "--json", cwd=project)
    assert named.code == 2


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("a: &a [x]\nb: &b [*a, *a]\nname: [*b, *b]\n", "aliases are not supported"),
        ("description: " + "x" * 40_000 + "\n", "larger than 32 KiB"),
        ("name: " + "[" * 1_000, "nested too deeply"),
        ("name: !!python/object/apply:os.system [id]\n", "the tag"),
        (YAML.partition("  -")[0] + "  - {name: t, script: act.pym}\n" * 41, "at most 40 items"),
        (YAML.replace("GRANTS", "") + f"verify: [{'parses, ' * 21}]\n", "at most 20 items"),
    ],
)
def test_a_definition_is_bounded(tmp_path: Path, yaml: str, words: str) -> None:
    folder = own(tmp_path)
    (folder / "agent.yaml").write_text(yaml)
    with pytest.raises(ConfigError, match=words):
        load_agents(tmp_path, BUILT_IN, ["own"])
    assert set(load_agents(tmp_path, BUILT_IN, ["lint"])) == {"lint"}


def test_many_own_agents_are_limited_and_built_in_ones_work(tmp_path: Path) -> None:
    plain = YAML.replace("GRANTS", "")
    for number in range(1000):
        folder = tmp_path / ".remora" / "agents" / f"a{number:03}"
        write(folder, {"agent.yaml": plain.replace("own", folder.name), "act.pym": "1\n"})
    with pytest.raises(ConfigError, match=rf"1000 agents \(maximum {MAX_PROJECT_AGENTS}\)"):
        load_agents(tmp_path, BUILT_IN)
    assert set(load_agents(tmp_path, BUILT_IN, ["lint", "a007"])) == {"lint", "a007"}
    with pytest.raises(ConfigError, match="1000 agents"):
        load_agents(tmp_path, BUILT_IN, ["a999"])


def test_an_interrupted_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        create_agent(tmp_path, BUILT_IN, "mine", operation=None)
    assert [path.name for path in tmp_path.rglob("*")] == [".remora", "agents"]
