"""Agents of a project's own: begun with `agents new`, checked, and run with the real model."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.runs.planning.agent_definitions import check_definitions
from tests.cli.conftest import Remora, git, tree, write
from tests.openai_server import answer, openai_server, send_json

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/agents/tolog"
PRINTS = """\
import logging

log = logging.getLogger(__name__)


def load(path):
    print(f"no such file: {path}")
    data = path + "x"
    print("loaded", data)
    print("done")
    return data
"""
COMMENTED = "def price(order):\n    # total = order.total()\n    return order.total()  # net\n"


def example() -> dict[str, str]:
    """The files of the agent that the page calls one with everything."""
    return {path.name: path.read_text(encoding="utf-8") for path in EXAMPLE.iterdir()}


def own(root: Path, files: dict[str, str], name: str = "own") -> Path:
    return write(root / ".remora" / "agents" / name, files)


def commit(root: Path) -> Path:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "more")
    return root


def scripts_again(remora: Remora, project: Path) -> set[tuple[str, str]]:
    """Kinds and names of the scripts of all agents: run from the record, where nothing else is
    left of the project, each comes to what it came to."""
    for place in project.iterdir():
        if place.name != ".agentfs":
            shutil.rmtree(place) if place.is_dir() else place.unlink()
    done = remora("--root", str(project), "trace", "replay", "--json", cwd=project)
    assert done.code == 0
    assert done.document["ok"]
    scripts = [script for agent in done.document["agents"] for script in agent["scripts"]]
    assert [script for script in scripts if script["same"] is not True] == []
    return {(script["kind"], script["script"]) for script in scripts}


class TestThePagesAgent:
    @pytest.mark.slow
    def test_it_works_from_needs_to_verify_with_the_real_model(
        self, remora: Remora, project: Path
    ) -> None:
        own(project, example(), "tolog")
        write(project, {"src/load.py": PRINTS})
        checked = remora("agents", "validate", "tolog", "--json", cwd=commit(project)).document
        assert checked["ok"]
        assert checked["agents"][0]["warnings"] == []

        words = ("-o", "tolog", "--decisions", "model", "--json")
        write(project, {"remora.yaml": "runner: {opening: false}\n"})
        done = remora("analyze", "src", *words, cwd=project)
        (job,) = done.document["jobs"]  # of a function that prints, and no other
        assert job["status"] == "verified"
        assert job["decided_by"] == {"model": 2, "rule": 1, "fallback": 0, "escalation": 0}
        shown = remora("trace", "show", job["agent_id"], "--json", cwd=project).document
        answers = [event for event in shown["events"] if event["type"] == "model_response"]
        assert {len(answer["data"]["text"]) for answer in answers} == {1}, "a letter"
        assert all(answer["data"]["raw"]["choices"][0]["logprobs"] for answer in answers)
        packet = remora("trace", "packet", job["agent_id"], "--turn", "2", "--json", cwd=project)
        shown = packet.document
        assert shown["extensions"] == {"logger": "log"}
        (action,) = shown["recent_actions"]
        assert "is logged at" in action["summary"]
        assert list(shown["knowledge"]) == ['print(f"no such file: {path}")']
        assert shown["constraints"]["checks"][-1] == "only_calls.pym"

        assert remora("accept", "--untested", "last", "--all", cwd=project).code == 0
        after = (project / "src/load.py").read_text()
        assert re.findall(r"print\(.*", after) == ['print("loaded", data)']
        assert re.sub(r"log\.(info|debug|warning)\(", "print(", after) == PRINTS
        assert remora("trace", "verify", "--all", "--json", cwd=project).document["ok"]
        assert scripts_again(remora, project) == {
            *(("context", "logger.pym"), ("candidates", "candidates.pym")),
            *(("tool", "log_at.pym"), ("summarizer", "summary.pym"), ("verify", "only_calls.pym")),
        }

    def test_its_own_check_fails_what_is_more_than_a_call(
        self, poor: Remora, project: Path
    ) -> None:
        files = example()
        files["agent.yaml"] += "constraints: {safety: [no_eval_exec]}\n"
        files["log_at.pym"] = files["log_at.pym"].replace("call, 1)", 'call, 1) + "  # done"')
        own(project, files, "tolog")
        write(project, {"src/load.py": PRINTS.replace('    print("loaded", data)\n', "")})
        done = poor("analyze", "src", "-o", "tolog", "--json", cwd=commit(project))
        (job,) = done.document["jobs"]
        assert done.code == 1
        assert job["status"] == "failed"
        assert job["error"].startswith("only_calls.pym: more than a call changed")
        packet = poor("trace", "packet", job["agent_id"], "--json", cwd=project).document
        checks = ["parses", "own_lines_only", "only_calls.pym"]
        rules = {"max_turns": 8, "safety": ["no_eval_exec"], "checks": checks}
        assert packet["constraints"] == rules


REFUSED_NAMES = {
    ("lint",): "'lint' is already used by a built-in agent",
    ("mine", "--operation", "docstring"): "'docstring' is already used by a built-in agent",
    ("mine", "--operation", "there"): "'there' is already used by the agent in",
    ("there",): "already exists",
    ("../mine",): "is not a valid agent name",
    ("Mine",): "is not a valid agent name",
    ("mine", "--operation", "a b"): "is not a valid agent operation",
    ("x" * 52,): "is not a valid agent name",
}


class TestNew:
    @pytest.mark.slow
    def test_the_agent_is_right_and_works_at_once(self, poor: Remora, project: Path) -> None:
        started = poor("agents", "new", "tidy", "--json", cwd=project).document
        folder = project / ".remora/agents/tidy"
        assert {Path(file).name for file in started["files"]} == {
            *("agent.yaml", "needs.pym", "candidates.pym", "remove_comments.pym"),
            *("only_comments.pym", "test_agent.py"),
        }
        assert all(Path(file).parent == folder for file in started["files"])
        assert [path.name for path in folder.parents[1].iterdir()] == [
            "agents"
        ]  # nothing is left beside it

        checked = poor("agents", "validate", "tidy", "--json", cwd=project).document
        assert checked["ok"]
        assert checked["agents"][0]["warnings"] == []
        write(project, {"src/price.py": COMMENTED})
        run = poor("analyze", "src", "-o", "tidy", "--json", cwd=project).document
        assert [job["status"] for job in run["jobs"]] == ["verified"]
        assert poor("accept", "--untested", "last", "--all", cwd=project).code == 0
        assert (project / "src/price.py").read_text() == COMMENTED.replace(
            "    # total = order.total()\n", ""
        )
        write(project, {"src/price.py": COMMENTED.replace("    # total", "    # as:\n    # total")})
        calls = [("remove_comments", {"first": 3, "last": 3}), ("submit_result", {})]
        with openai_server(
            lambda handler, _request, number: send_json(handler, answer(calls[number - 1]))
        ) as server:
            words = ("-o", "tidy", "--model", server.address, "--decisions", "model", "--json")
            (job,) = poor("analyze", "src", *words, cwd=project).document["jobs"]
        assert (job["status"], job["decided_by"]["model"]) == ("verified", 1)
        assert "remove_comments(first=3, last=3)" in json.dumps(server.requests[0]["messages"])

    @pytest.mark.slow
    def test_in_one_with_a_model_the_model_calls_the_tools(
        self, poor: Remora, project: Path
    ) -> None:
        said = poor("agents", "new", "todo", "--model", cwd=project).out
        assert "remora analyze -o todo --model ADDRESS\n" in said
        checked = poor("agents", "validate", "todo", "--json", cwd=project).document
        assert (checked["ok"], checked["agents"][0]["warnings"]) == (True, [])
        scripts = sorted((project / ".remora/agents/todo").glob("*.pym"))
        assert poor("tools", "check", *scripts, cwd=project).code == 0
        write(project, {"src/price.py": COMMENTED.replace("# total", "# TODO: total")})
        without = poor("analyze", "src", "-o", "todo", cwd=project)
        assert "1 todo needs a person or a model\nto let a model try: run" in without.out
        edit = {"first": 2, "last": 3, "text": "    return order.total()  # net"}
        calls = [("edit_lines", edit), ("submit_result", {})]
        with openai_server(
            lambda handler, _request, number: send_json(handler, answer(calls[number - 1]))
        ) as server:
            words = ("-o", "todo", "--model", server.address, "--json")
            run = poor("analyze", "src", *words, cwd=project).document
        (job,) = run["jobs"]
        assert (job["status"], job["decided_by"]["model"]) == ("verified", 2)
        assert "line 2: # TODO: total" in json.dumps(server.requests[0])

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("flags", "script", "before", "after"),
        [
            ((), "candidates.pym", "for first, last in blocks", "for first, last in []"),
            (("--model",), "edit_lines.pym", "first, last, text)", "first, last, '')"),
        ],
    )
    def test_its_test_passes_and_fails_where_the_agent_does_something_else(
        self,
        poor: Remora,
        project: Path,
        flags: tuple[str, ...],
        script: str,
        before: str,
        after: str,
    ) -> None:
        poor("agents", "new", "tidy", *flags, cwd=project)
        folder = project / ".remora/agents/tidy"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

        def tested() -> "subprocess.CompletedProcess[str]":
            return subprocess.run(
                [sys.executable, folder / "test_agent.py"],
                env={**poor.environment, "PATH": path},
                cwd=project,
                capture_output=True,
                text=True,
                check=False,
            )

        done = tested()
        assert done.returncode == 0, done.stderr
        changed = folder / script
        changed.write_text(changed.read_text().replace(before, after))
        assert tested().returncode == 1

    def test_it_prints_what_to_type_next_and_is_no_work_for_agents(
        self, poor: Remora, project: Path, tmp_path: Path
    ) -> None:
        said = poor("agents", "new", "tidy", cwd=project).out
        assert "remora agents validate tidy\n" in said
        assert "python3 .remora/agents/tidy/test_agent.py" in said
        (tmp_path / "elsewhere").mkdir()
        said = poor("agents", "new", "b", "--root", str(project), cwd=tmp_path / "elsewhere").out
        assert f"remora analyze -o b --root {project}\n" in said
        assert f"python3 {project}/.remora/agents/b/test_agent.py" in said
        write(project, {"src/price.py": COMMENTED})
        for words in ((), (".remora",)):
            plan = poor("analyze", *words, "-o", "tidy", "--dry-run", "--json", cwd=project)
            assert not [job for job in plan.document["jobs"] if ".remora" in job["node_id"]]

    def test_invalid_and_existing_names_and_a_link_are_refused(
        self, poor: Remora, project: Path, tmp_path: Path
    ) -> None:
        poor("agents", "new", "there", cwd=project)
        before = tree(project)
        for args, word in REFUSED_NAMES.items():
            done = poor("agents", "new", *args, "--json", cwd=project)
            assert (done.code, word in done.error["message"]) == (2, True), args
        assert tree(project) == before
        (tmp_path / "elsewhere").mkdir()
        shutil.rmtree(project / ".remora")
        (project / ".remora").symlink_to(tmp_path / "elsewhere")
        done = poor("agents", "new", "mine", "--json", cwd=project)
        assert done.code == 2
        assert "link to a folder outside the project" in done.error["message"]
        assert not list((tmp_path / "elsewhere").iterdir())


class TestReplace:
    """An agent of the project takes the place of a built-in one only if the user says so."""

    def allow(self, remora: Remora, operations: str = "[docstring]") -> Path:
        files = {"config.yaml": f"agents: {{replace: {operations}}}\n"}
        return write(remora.home / "config/remora", files) / "config.yaml"

    def test_it_does_all_of_the_operation_and_none_without_consent(
        self, poor: Remora, project: Path
    ) -> None:
        consent = self.allow(poor)
        assert poor("agents", "new", "docstring", cwd=project).code == 0
        write(project, {"src/price.py": COMMENTED})
        said = poor("agents", "list", cwd=project).out
        assert "project, replaces the built-in agent" in said
        agents = poor("agents", "list", "--json", cwd=project).document["agents"]
        named = [agent for agent in agents if agent["operation"] == "docstring"]
        assert [(agent["builtin"], agent["replaces"]) for agent in named] == [(False, True)]
        assert poor("agents", "validate", cwd=project).code == 0
        listed = poor("tools", "list", "--json", cwd=project).document["tools"]
        assert {tool["name"] for tool in listed if tool["name"].startswith("docstring/")} == {
            "docstring/remove_comments"
        }

        run = poor("analyze", "src", "-o", "docstring", "--json", cwd=project).document
        assert [job["status"] for job in run["jobs"]] == ["verified"]
        assert "docstrings" not in run["totals"]
        write(project, {"src/price.py": "# Prices.\n" + COMMENTED})

        consent.unlink()
        for words in (("accept", "--untested", "last", "--all"), ("analyze", "-o", "docstring")):
            refused = poor(*words, "--json", cwd=project)
            assert "docstring is already in use" in json.dumps(refused.document), words
        shutil.rmtree(project / ".remora/agents/docstring")
        refused = poor("accept", "--untested", "last", "--all", "--json", cwd=project)
        assert "the agent docstring has changed" in json.dumps(refused.document)

    def test_a_broken_one_is_an_error_and_a_project_without_one_has_the_built_in_agent(
        self, poor: Remora, project: Path
    ) -> None:
        self.allow(poor, "[docstring, lint]")
        own(project, {"agent.yaml": "name: [\n"}, "docstring")
        broken = poor("analyze", "-o", "docstring", "--json", cwd=project)
        assert broken.code == 2
        assert "docstring/agent.yaml:" in broken.error["message"]
        shown = poor("agents", "show", "lint", "--json", cwd=project)
        assert shown.code == 2  # it loads all agents
        shutil.rmtree(project / ".remora/agents/docstring")
        shown = poor("agents", "show", "docstring", "--json", cwd=project).document
        assert (shown["builtin"], shown["replaces"]) == (True, False)


YAML = """\
name: own
operation: own
goal: Look at {node_name}
tools:
  - name: act
    script: act.pym
    grants: [read_text]
"""
INPUTS = "from remora.pym import Input, external\n"


FAULTS: list[tuple[str, dict[str, str], str]] = [
    ("", {"act.pym": INPUTS + 'target: str = Input("target")\n1\n'},
     "6:13: act.pym:2: the input `target`: Remora passes a value of type dict: declare that type"),
    ("", {"act.pym": INPUTS + 'options: list = Input("options")\n1\n'},
     "6:13: act.pym:2: the input `options`: Remora passes a value of type dict"),
    ("", {"act.pym": INPUTS + 'line = Input(3)\n1\n'},
     "6:13: act.pym:2: the name of an input must be a string"),
    ("", {"act.pym": "x = (\n"}, "6:13: act.pym:2: unexpected EOF"),
    ("needs: s.pym", {"s.pym": INPUTS + 'target: dict = Input("target")\nTrue\n'},
     "8:8: s.pym:2: the input `target`: not available; a needs script receives `node`"),
    ("candidates: s.pym", {"s.pym": INPUTS + 'line: int = Input("line")\n1\n'},
     "8:13: s.pym:2: the input `line`: not available; a candidates script receives"),
    ("candidates: s.pym", {"s.pym": INPUTS + 'progress: list = Input("progress")\n1\n'},
     "8:13: s.pym:2: the input `progress`: Remora passes a value of type dict"),
    ("context: [s.pym]", {"s.pym": INPUTS + 'node: dict = Input("node")\n1\n'},
     "8:11: s.pym:2: the input `node`: not available"),
    ("verify: [parses, s.pym]", {"s.pym": INPUTS + 'files: dict = Input("files")\nTrue\n'},
     "8:18: s.pym:2: the input `files`: Remora passes a value of type list"),
    ("    summarizer: s.pym", {"s.pym": "{}\n"}, "8:17: s.pym:1: a summarizer needs"),
    ("verify: [gone.pym]", {}, "8:10: no file gone.pym"),
    ("verify: [parse]", {}, "8:10: verify.0: expected one of parses"),
    ("verify: []", {}, "8:9: verify: expected at least one check (default: "),
    ("verify:", {}, "8:8: verify: expected a list"),
    ("packet_extension: {type: objec}", {}, "8:19: packet_extension: expected a JSON"),
]  # fmt: skip


class TestValidate:
    def test_a_fault_is_reported_at_its_place(self, poor: Remora, project: Path) -> None:
        for more, scripts, said in FAULTS:
            files = {"act.pym": "1\n", **scripts, "agent.yaml": f"{YAML}{more}\n"}
            folder = own(project, files)
            (checked,) = check_definitions(project, BUILT_IN, [folder])
            assert checked.error.startswith(f"{folder}/agent.yaml:{said}")
        assert poor("analyze", "-o", "own", cwd=project).code == 2
        scripts = {"act.pym": "x: int = 'a'\ny: int = 'b'\n", "s.pym": "x = (\n"}
        own(project, {**scripts, "agent.yaml": YAML + "verify: [s.pym]\n"})
        own(project, {"act.pym": "1\n"}, "half")
        done = poor("agents", "validate", "own", "half", "--json", cwd=project)
        errors, missing = (one["error"] for one in done.document["agents"])
        assert re.findall(r"\b(\w+\.pym:\d)", errors) == ["act.pym:1", "act.pym:2", "s.pym:2"]
        assert missing.endswith("half/agent.yaml: no such file")

    def test_a_name_that_none_has_is_reported_with_the_nearest_and_all(
        self, poor: Remora, project: Path
    ) -> None:
        own(project, {"act.pym": "1\n", "agent.yaml": YAML})
        hint = "available agents: docstring, lint, own, steps, test, types"
        done = poor("agents", "validate", "owwn", cwd=project)
        assert done.code == 2
        assert "no agent 'owwn' (did you mean 'own'?)" in done.err
        assert hint in done.err
        for words in (("analyze", "-o", "owm"), ("agents", "show", "owm")):
            done = poor(*words, "--json", cwd=project)
            assert (done.code, done.error["hint"]) == (2, hint)


def test_list_shows_own_agents_and_continues_past_a_wrong_one(poor: Remora, project: Path) -> None:
    own(project, {"act.pym": "1\n", "agent.yaml": YAML})
    own(project, {"agent.yaml": "name: [\n"}, "wrong")
    done = poor("agents", "list", "--json", cwd=project)
    assert done.code == 2
    listed = {one["name"]: one for one in json.loads(done.out)["agents"]}
    assert {"lint", "docstring", "own"} <= set(listed)
    assert listed["own"]["tools"] == ["act", "recall", "undo", "leave", "submit_result"]
    assert not listed["own"]["builtin"]
    (error,) = done.document["errors"]
    assert "wrong/agent.yaml:" in error
