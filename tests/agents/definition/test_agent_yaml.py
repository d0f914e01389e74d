"""Definitions: what `agent.yaml` may say, and faults that point at the line."""

import re
import textwrap
from pathlib import Path

import pytest

from remora.agents.definition.agent import (
    MAX_PROJECT_AGENTS,
    agent_named,
    hide_harness_inputs,
    load_agent,
    load_agents,
    with_replaced,
)
from remora.agents.definition.agent_yaml import definition_schema, read_definition
from remora.bootstrap.operations import BUILT_IN
from remora.chat import ToolSchema
from remora.errors import ConfigError, UsageError
from remora.pym import ScriptChecks

GOOD = """\
name: own
operation: own
goal: Look at {node_name}
tools:
  - name: act
    script: act.pym
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "act.pym").write_text("1")
    return tmp_path


def says(folder: Path, yaml: str) -> str:
    """The error of this definition."""
    (folder / "agent.yaml").write_text(textwrap.dedent(yaml))
    with pytest.raises(ConfigError) as caught:
        load_agent(folder, BUILT_IN)
    assert caught.value.exit_code == 2
    return caught.value.message.replace(f"{folder}/", "")


def test_a_small_definition_is_enough(folder: Path) -> None:
    (folder / "agent.yaml").write_text(GOOD)
    agent = load_agent(folder, BUILT_IN)
    assert agent.definition.needs == "always"
    assert agent.definition.verify == ["parses", "own_lines_only"]
    assert agent.definition.node_types == ["function", "class", "module"]
    assert [schema.name for schema in agent.schemas] == [
        "act", "recall", "undo", "leave", "submit_result",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "place", "words"),
    [
        ("goals: x", "7:1", "unknown key goals (did you mean 'goal'?)"),
        ("max_turn: 3", "7:1", "did you mean 'max_turns'?"),
        ("max_turns: 0", "7:12", "max_turns"),
        ("max_turns: '3'", "7:12", "an integer"),
        ("needs: tested", "7:8", "one of ruff, fixable, docstring, test, unannotated, always"),
        ("needs: tests.py", "7:8", "or the path of a .pym script"),
        ("needs: gone.pym", "7:8", "no file gone.pym"),
        ("verify: [parse]", "7:10", "one of parses, no_new_findings"),
        ("node_types: [method]", "7:14", "'function', 'class' or 'module'"),
        ("candidates: gone.pym", "7:13", "no file gone.pym"),
        ("candidates: {script: act.pym, grants: [reed_text]}", "7:40",
         "unknown host function reed_text (did you mean 'read_text'?)"),
        ("context: [../x.pym]", "7:11", "is outside the agent's folder"),
        ("context: [{script: act.pym, grant: []}]", "7:29", "did you mean"),
        ("packet_extension: {type: objec}", "7:19", "a JSON Schema (2020-12)"),
        ("packet_extension: {$ref: 'http://x.test/y'}", "7:19", "without references to other"),
        ("packet_extension: {properties: {a: {$ref: other.json}}}", "7:19", "without references"),
        ("packet_extension: {$ref: '#/nowhere'}", "7:19", "without unresolved references"),
        ("constraints: {safety: no_eval}", "7:23", "a list"),
        ("constraints: {safe: [x]}", "7:15", "unknown key constraints.safe"),
        (f"packet_extension: {{description: {'x' * 2100}}}", "7:19", "at most 2 KB"),
        ("description: &a x\nmodel: *a", "8:8", "aliases are not supported"),
        ("name: again", "7:1", "duplicate key name"),
    ],
)  # fmt: skip
def test_a_fault_points_at_its_line(folder: Path, more: str, place: str, words: str) -> None:
    message = says(folder, GOOD + more + "\n")
    assert message.startswith(f"agent.yaml:{place}: ")
    assert words in message


@pytest.mark.parametrize(
    ("tool", "place", "words"),
    [
        ("{name: recall, script: act.pym}", "5:12", "the tool recall is built in"),
        ("{name: submit_result, script: act.pym}", "5:12", "is built in"),
        ("{name: Act, script: act.pym}", "5:12", "pattern"),
        ("{name: act, script: act.py}", "5:25", "the path of a .pym script"),
        ("{name: act, script: ../../etc/x.pym}", "5:25", "is outside the agent's folder"),
        ("{name: act, script: /etc/x.pym}", "5:25", "is outside the agent's folder"),
        ("{name: act, script: gone.pym}", "5:25", "no file gone.pym"),
        ("{name: act}", "5:5", "missing key tools.0.script"),
        ("{name: act, script: act.pym, summarizer: best}", "5:46", "one of tool, linter, default"),
        ("{name: act, script: act.pym, summarizer: gone.pym}", "5:46", "no file gone"),
        ("{name: act, script: act.pym, grants: [rm]}", "5:43", "unknown host function rm"),
    ],
)
def test_a_fault_of_a_tool_does_too(folder: Path, tool: str, place: str, words: str) -> None:
    message = says(folder, f"name: own\noperation: own\ngoal: go\ntools:\n  - {tool}\n")
    assert message.startswith(f"agent.yaml:{place}: ")
    assert words in message


@pytest.mark.parametrize(
    "goal",
    ["{node}", "{0}", "{}", "{node_name.__class__}", "{node_name[0]}", "{node_name!r}",
     "{path:>999999999}", "{path", "}"],
)  # fmt: skip
def test_a_goal_has_named_fields_and_nothing_else(folder: Path, goal: str) -> None:
    message = says(folder, GOOD.replace("Look at {node_name}", f"'{goal}'"))
    assert message.startswith(
        "agent.yaml:3:7: goal: expected a string with no fields other than {node_id}"
    )


def test_a_link_out_of_the_folder_is_not_a_way_out(folder: Path, tmp_path_factory: object) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "agent.yaml").write_text(GOOD)
    (folder / "inner" / "act.pym").symlink_to(folder / "act.pym")
    with pytest.raises(ConfigError, match="is outside the agent's folder"):
        load_agent(folder / "inner", BUILT_IN)


def test_other_faults_are_reported_at_once_with_their_lines(folder: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        read_definition(folder / "agent.yaml", BUILT_IN)
    tool = "  - {name: act, script: act.pym}\n"
    message = says(folder, f"name: own\noperation: own\ngoal: go\ntools:\n{tool}{tool}")
    assert message == "agent.yaml:6:12: the tool act is defined twice"
    lines = says(folder, GOOD + "max_turns: x\nnods: 1\n").splitlines()
    assert [re.match(r"agent.yaml:\d+:\d+", line) is not None for line in lines] == [True, True]
    (folder / "agent.yaml").write_text(GOOD.replace("Look at {node_name}", "'{{x}} {path}'"))
    assert load_agent(folder, BUILT_IN).definition.goal == "{{x}} {path}"
    (folder / "act.pym").write_text('x = 1\ny: int = "text"\n')
    message = says(folder, GOOD)
    assert "act.pym:2:" in message


class TestProject:
    def own(self, root: Path, yaml: str) -> None:
        folder = root / ".remora" / "agents" / "own"
        folder.mkdir(parents=True)
        (folder / "agent.yaml").write_text(yaml)
        (folder / "act.pym").write_text("1")

    def test_own_agents_are_loaded_beside_the_built_in_ones(self, tmp_path: Path) -> None:
        self.own(tmp_path, GOOD)
        agents = load_agents(tmp_path, BUILT_IN)
        assert set(agents) >= {"lint", "own"}
        assert (agents["lint"].builtin, agents["own"].builtin) == (True, False)
        assert agent_named(agents, "own") is agents["own"]

    @pytest.mark.parametrize("taken", ["name: own", "operation: own"])
    def test_an_own_agent_cannot_use_a_built_in_name(self, tmp_path: Path, taken: str) -> None:
        self.own(tmp_path, GOOD.replace(taken, taken.replace("own", "lint")))
        with pytest.raises(ConfigError, match="is already in use") as caught:
            load_agents(tmp_path, BUILT_IN)
        assert "agents.replace: [lint]" in caught.value.hint

    @pytest.mark.parametrize(
        "text", ["operation: lint\nunknown: 1\n", "operation: Lint\n", "name: own\n", "- [", "\0"]
    )
    def test_an_invalid_agent_that_may_replace_a_built_in_one_is_an_error(
        self, tmp_path: Path, text: str
    ) -> None:
        self.own(tmp_path, text)
        left = with_replaced(tmp_path, BUILT_IN, ["lint"])
        assert left.replaced == {"lint"}
        with pytest.raises(ConfigError, match=r"agent\.yaml"):
            load_agents(tmp_path, left, ["lint"])

    @pytest.mark.parametrize("text", ["operation: other\nunknown: 1\n", GOOD])
    def test_an_agent_of_another_operation_replaces_nothing(
        self, tmp_path: Path, text: str
    ) -> None:
        self.own(tmp_path, text)
        assert with_replaced(tmp_path, BUILT_IN, ["lint"]).replaced == set()

    def test_one_of_too_many_agents_may_replace_a_built_in_one(self, tmp_path: Path) -> None:
        for number in range(MAX_PROJECT_AGENTS + 1):
            folder = tmp_path / ".remora/agents" / str(number)
            folder.mkdir(parents=True)
            (folder / "agent.yaml").write_text("operation: other\n")
        assert with_replaced(tmp_path, BUILT_IN, ["lint"]).replaced == {"lint"}

    def test_an_unknown_operation_or_agent_lists_the_known_ones(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"'lnt' \(did you mean 'lint'\?\)"):
            with_replaced(tmp_path, BUILT_IN, ["lint", "lnt"])
        with pytest.raises(UsageError) as caught:
            agent_named(load_agents(tmp_path, BUILT_IN), "lin")
        assert "lint" in caught.value.hint


def test_built_in_agents_load_and_their_scripts_are_checked_on_request(folder: Path) -> None:
    for operation in BUILT_IN.all:
        agent = load_agent(operation.folder, BUILT_IN)  # otherwise, only this test checks them
        assert agent.definition.name == agent.definition.operation == operation.name
    (folder / "agent.yaml").write_text(GOOD)
    (folder / "act.pym").write_text("1 + 'a'")
    assert load_agent(folder, BUILT_IN, builtin=True).scripts.keys() == {"act.pym"}
    with pytest.raises(ConfigError, match=r"act\.pym:1"):
        load_agent(folder, BUILT_IN, builtin=True, checks=ScriptChecks(built_in=True))
    with pytest.raises(ConfigError, match=r"act\.pym:1"):
        load_agent(folder, BUILT_IN)


def test_a_model_never_sees_what_the_harness_fills() -> None:
    schema = ToolSchema(
        name="t",
        description="says \ud800",
        parameters={
            "type": "object",
            "properties": {"line": {}, "target": {}, "packet": {}, "options": {}},
            "required": ["target", "line"],
        },
    )
    shown = hide_harness_inputs(schema)
    assert shown.parameters == {"type": "object", "properties": {"line": {}}, "required": ["line"]}
    assert shown.description == "says \\ud800"


def test_the_schema_names_every_key_with_its_meaning() -> None:
    properties = definition_schema()["properties"]
    assert set(properties) >= {"name", "operation", "goal", "tools", "needs", "verify"}
    assert all("description" in value for value in properties.values())
