"""The pull hook: which facts agents get, and what the record says."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from remora.agents.inputs.hub_pull import UNANSWERED, NoHub, PullHook
from remora.agents.inputs.node_versions import NodeVersions
from remora.files.project_files import project_files
from remora.ids import node_key
from remora.memory.events import ContextUpdate
from remora.memory.hub_facts import MAX_LINKS
from remora.memory.packet import Candidate, DecisionPacket
from remora.trace.redact.redactor import Redactor
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import take_base
from remora.workspaces.copy.workspace import Workspace
from tests.agents.conftest import REDACT, SUBMIT, Play, Theatre, a_job
from tests.memory.test_hub_facts import TARGET, edges, facts


class Hub:
    """Answers what it was given, turn by turn; the last again and again."""

    def __init__(self, *answers: Mapping[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[list[str]] = []

    async def get_context(self, keys: list[str]) -> Mapping[str, Any]:
        self.asked.append(keys)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return {key: found[key] for key in keys if key in found}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """One file with two functions and a class, and what the user makes of it meanwhile."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "mod.py").write_text(
        "def f(x):\n    return x\n\n\nclass C:\n    n = 1\n\n    def m(self):\n        pass\n"
    )
    base = take_base(root, project_files(root), tmp_path / "base")
    with SlotDriver(base, tmp_path / "slots").open() as opened:
        yield opened


def sides(workspace: Workspace, node: str, user: bytes | None) -> NodeVersions:
    return NodeVersions(a_job(node, "own"), workspace, lambda path: user)


class TestSides:
    BASE = b"def f(x):\n    return x\n\n\nclass C:\n    n = 1\n\n    def m(self):\n        pass\n"

    def test_a_removed_file_is_a_change_and_an_untouched_one_is_not_a_fact(
        self, workspace: Workspace
    ) -> None:
        assert not sides(workspace, "f", self.BASE).changed_by_user()
        assert not NodeVersions(a_job("f", "own"), workspace, user_file=None).changed_by_user()
        assert sides(workspace, "f", None).changed_by_user()
        assert sides(workspace, "f", None).workspace_facts(TARGET) is None
        assert sides(workspace, "f", None).workspace_facts("node:not/there.py:f") is None

    @pytest.mark.parametrize(
        ("node", "edit", "changed"),
        [
            ("f", (b"return x", b"return 2 * x"), True),
            ("f", (b"n = 1", b"n = 2"), False),
            ("f", (b"def f", b"\n\ndef f"), False),
            ("f", (b"def f", b"@cache\ndef f"), True),
            ("f", (b"def f(x)", b"def g(x)"), True),
            ("f", (b"class C:", b"class C"), False),
            ("C", (b"n = 1", b"n = 2"), True),
            ("C", (b"pass", b"return 1"), False),
            ("C.m", (b"pass", b"return 1"), True),
            ("__module__", (b"return x", b"return 2"), False),
        ],
    )
    def test_only_the_nodes_own_lines_count(
        self, workspace: Workspace, node: str, edit: tuple[bytes, bytes], *, changed: bool
    ) -> None:
        edited = self.BASE.replace(*edit)
        assert edited != self.BASE
        assert sides(workspace, node, edited).changed_by_user() is changed

    def test_facts_of_a_file_that_it_edited(self, workspace: Workspace) -> None:
        edited = b"def f(x: int) -> int:\n    return x if x else 1\n"
        workspace.set_files({"mod.py": (edited, 0o644)})
        told = sides(workspace, "f", None).workspace_facts(TARGET)
        assert told is not None
        assert (told["signature"], told["complexity"]) == ("def f(x: int) -> int", 2)
        assert sides(workspace, "f", None).workspace_facts("node:mod.py:C") == {}


class TestSuggested:
    @pytest.mark.parametrize(
        ("args", "nodes"),
        [
            ({"function": "C.m"}, ["C.m"]),
            ({"first": 8, "last": 9}, ["C.m"]),
            ({"first": 6}, ["C"]),
            ({"first": 3, "text": "f is not named"}, []),
            ({"item": "f", "first": 99}, ["f"]),
        ],
    )
    def test_a_job_on_a_file_asks_for_what_its_suggestions_name(
        self, workspace: Workspace, args: dict[str, Any], nodes: list[str]
    ) -> None:
        alone, hub = a_job("__module__", "own"), Hub({})
        for job, asked in (
            (replace(alone, nodes=()), nodes or ["__module__"]),
            (alone, ["__module__"]),
        ):
            hook = PullHook(hub, NodeVersions(job, workspace, None), REDACT, 600)
            candidates = (Candidate(tool="act", args=args),)
            packet = DecisionPacket(node_id=job.node_id, candidate_actions=candidates)
            asyncio.run(hook.pull(packet))
            assert hub.asked[-1] == [node_key("mod.py", name) for name in asked]

    def test_a_class_is_asked_for_with_its_constructor(self, workspace: Workspace) -> None:
        key = node_key("mod.py", "C")
        hub = Hub(
            {
                f"{key}.__init__": facts(callers=edges("node:a.py:g")),
                key: facts(key, node_type="class"),
            }
        )
        hook = PullHook(hub, sides(workspace, "C", None), REDACT, 600)
        pulled = asyncio.run(hook.pull(DecisionPacket(node_id=key, node_type="class")))
        assert pulled is not None
        assert list(pulled.value) == [key]
        assert [edge["key"] for edge in pulled.value[key]["callers"]] == ["node:a.py:g"]


class TestHook:
    def pulled(self, hub: Any, workspace: Workspace, user: bytes | None = TestSides.BASE) -> Any:
        hook = PullHook(hub, sides(workspace, "f", user), REDACT, 600)
        return asyncio.run(hook.pull(DecisionPacket(node_id=TARGET)))

    def test_without_a_hub_only_a_users_edit_is_reported(self, workspace: Workspace) -> None:
        assert self.pulled(NoHub(), workspace, None) is None
        pulled = self.pulled(Hub({}), workspace, b"def f(x):\n    return 3\n")
        assert pulled.value == {TARGET: {"changed_by_user": True}}
        assert pulled.delta.hub_context == {TARGET: {"changed_by_user": True}}
        assert pulled.error == UNANSWERED

    def test_own_facts_come_from_the_workspace_links_from_the_hub(
        self, workspace: Workspace
    ) -> None:
        workspace.set_files({"mod.py": (b"def f(x):\n    if x:\n        return 1\n", 0o644)})
        callers = edges("node:a.py:g")
        pulled = self.pulled(Hub({TARGET: facts(callers=callers, complexity=1)}), workspace)
        assert pulled.value[TARGET]["complexity"] == 2
        assert pulled.value[TARGET]["last_updated"] == "2026-01-01T00:00:00Z"
        assert pulled.delta.hub_context[TARGET] == {
            "signature": "def f(x)", "flags": ["type hints missing"], "complexity": 2,
            "callers": ["a.py:g"], "links": "as before your edits",
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("callers", "call"),
        [
            (["node:tests/test_mod.py:t", "node:use.py:g"], "use.py:2: f( 1, )"),
            (["node:tests/test_mod.py:t"], "tests/test_mod.py:2: assert f(3)"),
            (["node:gone.py:g", "node:mod.py:C"], None),
        ],
    )
    def test_a_call_is_shown_as_code_unless_its_line_was_changed(
        self, workspace: Workspace, callers: list[str], call: str | None
    ) -> None:
        lines = b"def g():\n    f(\n        1,\n    )\n"
        test = b"def t():\n    assert f(3)\n"
        workspace.set_files({"use.py": (lines, 0o644), "tests/test_mod.py": (test, 0o644)})
        links = [{**edge, "lines": [2]} for edge in edges(*callers)]
        pulled = self.pulled(Hub({TARGET: facts(callers=links)}), workspace)
        assert pulled.value[TARGET].get("call") == call
        assert pulled.delta.hub_context[TARGET].get("call") == call

    def test_an_event_records_100_links_and_the_count(self, workspace: Workspace) -> None:
        callers = edges(*(f"node:a.py:f{n}" for n in range(150)))
        pulled = self.pulled(Hub({TARGET: facts(callers=callers)}), workspace)
        assert len(pulled.value[TARGET]["callers"]) == MAX_LINKS
        assert pulled.value[TARGET]["counts"] == {"callers": 150}
        assert pulled.delta.hub_context[TARGET]["fan_in"] == 150

    def test_secrets_do_not_pass(self, workspace: Workspace) -> None:
        token = "ghp_" + "a1B2" * 9
        redact = Redactor(key=bytes(32))
        hook = PullHook(
            Hub({TARGET: facts(docstring=f"Uses {token}.")}),
            sides(workspace, "f", None),
            redact,
            600,
        )
        pulled = asyncio.run(hook.pull(DecisionPacket(node_id=TARGET)))
        assert pulled is not None
        assert token not in str(pulled)
        assert isinstance(pulled.delta.hub_context, dict)
        assert "<secret:" in pulled.delta.hub_context[TARGET]["docstring"]


class TestInAStream:
    LOOK = '{"result": 1, "summary": "s", "knowledge_delta": {"see": "node:a.py:x"}}'
    ACT = '{"tool":"act","args":{}}'

    CANDIDATES = '{"result": 1, "candidate_actions": [{"tool": "act", "args": {}}]}'

    def test_facts_enter_after_the_candidates_and_only_where_they_are_new(
        self, theatre: Theatre
    ) -> None:
        hub = Hub({TARGET: facts(callers=edges("node:a.py:x"))})
        agent = theatre.tool(self.LOOK, more="candidates: {script: next.pym}", next=self.CANDIDATES)
        played = theatre.play(
            Play(agent=agent, answers=[self.ACT, SUBMIT], facts=hub, opening=False)
        )
        assert hub.asked == [[TARGET], [TARGET, "node:a.py:x"]]
        suggested, update, _ = played.payloads(ContextUpdate)
        assert (suggested.source, update.source) == ("candidates", "hub")
        assert update.value[TARGET]["source_hash"] == "a" * 64
        assert played.types[1:5] == [
            "turn_start", "context_update", "context_update", "model_request",
        ]  # fmt: skip

    def test_the_model_is_shown_them(self, theatre: Theatre) -> None:
        hub = Hub({TARGET: facts(callers=edges("node:src/app.py:main"))})
        played = theatre.play(Play(agent=theatre.tool(self.LOOK), answers=[SUBMIT], facts=hub))
        asked = played.model.requests[0].messages[1].content  # type: ignore[attr-defined]
        shown = '{"signature":"def f(x: int) -> int","callers":["src/app.py:main"]}'
        assert f"Hub:\ntarget: {shown}\n" in asked
        assert "2026-01-01" not in asked
