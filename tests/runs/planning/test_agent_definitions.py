"""What `agents validate` finds out before a run does."""

from pathlib import Path

from remora.bootstrap.operations import BUILT_IN
from remora.runs.planning.agent_definitions import check_definitions

AGENT = """\
name: todo
operation: todo
goal: Tidy {node_name}
tools:
  - name: act
    script: act.pym
    grants: [edit_text]
"""
SCRIPT = """\
from remora.pym import external


@external
def read_text(path: str) -> str: ...


read_text("a.py")
"""


def _own(root: Path, agent: str = AGENT) -> Path:
    folder = root / ".remora" / "agents" / "todo"
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text(agent)
    (folder / "act.pym").write_text(SCRIPT)
    return folder


def test_a_host_function_that_is_declared_but_not_granted_is_a_warning(tmp_path: Path) -> None:
    folder = _own(tmp_path)
    checked = check_definitions(tmp_path, BUILT_IN, [folder])[0]
    assert checked.error == ""
    assert checked.warnings == (
        f"{folder}/agent.yaml:6:13: act.pym:5: `read_text` is declared but not granted; "
        "calls to it are denied",
        f"{folder}/agent.yaml:7:14: `edit_text` is granted, but act.pym declares no such external",
    )


def test_one_that_is_granted_is_none(tmp_path: Path) -> None:
    folder = _own(tmp_path, AGENT.replace("edit_text", "read_text"))
    assert check_definitions(tmp_path, BUILT_IN, [folder])[0].warnings == ()


def test_the_built_in_agents_are_right(tmp_path: Path) -> None:
    assert [
        (one.name, one.error, one.warnings) for one in check_definitions(tmp_path, BUILT_IN)
    ] == [
        ("docstring", "", ()),
        ("lint", "", ()),
        ("test", "", ()),
    ]
