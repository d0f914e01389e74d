"""What `agents validate` finds out before a run does."""

from pathlib import Path

import pytest

from remora.agents.definition.agent import load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.config.schema import ModelConfig
from remora.errors import ConfigError
from remora.runs.planning.agent_definitions import check_definitions

AGENT = """\
name: todo
operation: todo
goal: Tidy {node_name}
tools:
  - name: act
    script: act.pym
    grants: [read_text]
"""
SCRIPT = """\
from remora.pym import external


@external
def read_text(path: str) -> str: ...


read_text("a.py")
"""
NEEDS = 'from remora.pym import Input\nnode: dict = Input("node")\n'


def _own(root: Path, agent: str = AGENT) -> Path:
    folder = root / ".remora" / "agents" / "todo"
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text(agent)
    (folder / "act.pym").write_text(SCRIPT)
    return folder


def test_what_a_script_declares_must_be_granted(tmp_path: Path) -> None:
    folder = _own(tmp_path, AGENT.replace("read_text", "edit_text"))
    with pytest.raises(ConfigError) as caught:
        load_agent(folder, BUILT_IN)
    checked = check_definitions(tmp_path, BUILT_IN, [folder])[0]
    assert caught.value.message == checked.error
    place = f"{folder}/agent.yaml:6:13: act.pym:5:"
    assert checked.error == f"{place} `read_text` is not granted: add it to the grants"


def test_extensions_need_a_schema(tmp_path: Path) -> None:
    folder = _own(tmp_path)
    found = (
        '{\n    "result": {"extensions": 1},\n    "summary": "",\n    "extensions": {"n": 1},\n}\n'
    )
    (folder / "act.pym").write_text(SCRIPT + found)
    (checked,) = check_definitions(tmp_path, BUILT_IN, [folder])
    place = f"{folder}/agent.yaml:6:13: act.pym:9:"
    assert checked.error == f"{place} `extensions` needs a `packet_extension` in agent.yaml"
    (folder / "agent.yaml").write_text(AGENT + "packet_extension: {type: object}\n")
    assert check_definitions(tmp_path, BUILT_IN, [folder])[0].error == ""


def test_a_grant_that_no_script_uses_is_a_warning(tmp_path: Path) -> None:
    folder = _own(tmp_path, AGENT.replace("[read_text]", "[read_text, edit_text]"))
    assert check_definitions(tmp_path, BUILT_IN, [folder])[0].warnings == (
        f"{folder}/agent.yaml:7:25: `edit_text` is granted, but act.pym declares no such external",
    )


@pytest.mark.parametrize(
    ("agent", "scripts", "says"),
    [
        (
            AGENT.replace("operation: todo", "operation: lint"),
            {},
            "operation lint is already in use",
        ),
        (
            AGENT + "needs: n.pym\n",
            {"n.pym": NEEDS + "node['text'].index('TODO') >= 0\n"},
            "n.pym:3: ValueError: substring not found (for a sample module)",
        ),
        (
            AGENT + "needs: n.pym\n",
            {"n.pym": NEEDS.replace("dict", "dict[str, str | int | None]") + "True\n"},
            "n.pym:2: the input `node`: Remora passes a value of type dict",
        ),
        (
            AGENT + "verify: [v.pym]\n",
            {"v.pym": SCRIPT},
            "v.pym:5: `read_text`: a verify script has no host functions",
        ),
    ],
)
def test_a_name_is_refused_for_what_a_run_refuses(
    tmp_path: Path, agent: str, scripts: dict[str, str], says: str
) -> None:
    folder = _own(tmp_path, agent)
    for name, text in scripts.items():
        (folder / name).write_text(text)
    for name in ("todo", str(folder)):
        (checked,) = check_definitions(tmp_path, BUILT_IN, [Path(name)])
        assert says in checked.error


def test_a_taken_name_is_an_error_of_the_agent_that_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = _own(tmp_path, AGENT.replace("name: todo", "name: lint"))
    file = folder / "agent.yaml"
    for given in (["lint"], [".remora/agents/todo"], ["todo"], []):
        checked = check_definitions(tmp_path, BUILT_IN, [Path(name) for name in given])
        wrong = [(one.path, one.error) for one in checked if one.error]
        assert wrong == [(file, f"{file}:1:7: the name lint is already in use")]


def test_of_two_agents_of_one_operation_the_second_is_wrong(tmp_path: Path) -> None:
    folder = _own(tmp_path)
    other = folder.parent / "zz"
    other.mkdir()
    (other / "agent.yaml").write_text(AGENT.replace("name: todo", "name: zz"))
    (other / "act.pym").write_text(SCRIPT)
    for given in ([], [folder], [Path("todo")]):
        wrong = [one for one in check_definitions(tmp_path, BUILT_IN, given) if one.error]
        assert [one.error for one in wrong] == [
            f"{other}/agent.yaml:2:12: the operation todo is already in use"
        ]


def test_a_model_without_an_address_is_a_warning(tmp_path: Path) -> None:
    folder = _own(tmp_path, AGENT + "model: large\n")
    (checked,) = check_definitions(tmp_path, BUILT_IN, [folder], ModelConfig())
    said = "model.name is large, but model.base_url is not set"
    assert checked.warnings == (f"{folder}/agent.yaml: {said}",)
    (checked,) = check_definitions(tmp_path, BUILT_IN, [folder], ModelConfig(provider="none"))
    assert checked.warnings == ()


def test_an_agent_is_found_by_its_operation_and_its_folder(tmp_path: Path) -> None:
    agent = AGENT.replace("name: todo", "name: tidy").replace("operation: todo", "operation: op")
    _own(tmp_path, agent)
    names = [Path(name) for name in ("tidy", "op", "todo")]
    assert [one.name for one in check_definitions(tmp_path, BUILT_IN, names)] == ["tidy"] * 3


def test_the_built_in_agents_are_right(tmp_path: Path) -> None:
    names = ["docstring", "lint", "test", "types"]
    by_name = check_definitions(tmp_path, BUILT_IN, [Path(name) for name in names])
    assert [(one.name, one.error, one.warnings) for one in by_name] == [
        (name, "", ()) for name in names
    ]
    assert [one.name for one in check_definitions(tmp_path, BUILT_IN)] == names
