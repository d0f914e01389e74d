"""The pull hook: which nodes are asked for, what packets show of them, what the record says."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.agents.inputs.hub_pull import (
    MAX_LINKS,
    UNANSWERED,
    NoHub,
    PullHook,
    hub_delta,
    wanted_nodes,
)
from remora.agents.inputs.node_facts import facts_view
from remora.agents.inputs.node_versions import NodeVersions
from remora.files.project_files import project_files
from remora.memory.canonical import canonical
from remora.memory.delta import PacketDelta, new_action
from remora.memory.events import ContextUpdate
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.trace.redact.redactor import Redactor
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import take_base
from remora.workspaces.copy.workspace import Workspace
from tests.agents.conftest import REDACT, SUBMIT, Play, Theatre, a_job

TARGET = "node:mod.py:f"
TIERS = ("exact", "inferred", "unique", "observed")


def edges(*keys: str, tier: str = "exact") -> list[dict[str, Any]]:
    return [{"key": key, "tier": tier, "lines": [1]} for key in keys]


def facts(key: str = TARGET, **more: Any) -> dict[str, Any]:
    """A node's facts as the Hub answers."""
    return {
        "key": key,
        "uid": "u1",
        "node_type": "function",
        "source_hash": "a" * 64,
        "signature": "def f(x: int) -> int",
        "docstring": None,
        "docstring_outdated": False,
        "callers": None,
        "callees": None,
        "related_tests": None,
        "complexity": None,
        "has_type_hints": True,
        "partial": False,
        "last_updated": "2026-01-01T00:00:00Z",
        "extra": {},
        "fresh": True,
        **more,
    }


class TestWanted:
    def test_the_target_comes_first_then_the_newest(self) -> None:
        packet = apply(
            DecisionPacket(node_id="node:a.py:f"),
            PacketDelta(
                turn=1,
                update_knowledge={"callers": "node:c.py:h node:d.py:i"},
                add_action=new_action("t", {"node": "node:b.py:g"}, "", "success"),
            ),
        )
        assert wanted_nodes(packet) == [
            "node:a.py:f", "node:b.py:g", "node:c.py:h", "node:d.py:i",
        ]  # fmt: skip

    def test_at_most_five_nodes_are_shown(self) -> None:
        many = {f"k{n}": f"node:m.py:f{n}" for n in range(9)}
        packet = apply(DecisionPacket(node_id="node:a.py:f"), PacketDelta(update_knowledge=many))
        assert wanted_nodes(packet) == [
            "node:a.py:f", *(f"node:m.py:f{n}" for n in (8, 7, 6, 5)),
        ]  # fmt: skip

    def test_a_key_that_stands_alone_may_hold_spaces(self) -> None:
        action = new_action("t", {"node": "node:my code/b c.py:g"}, "", "success")
        packet = apply(DecisionPacket(node_id=TARGET), PacketDelta(add_action=action))
        assert wanted_nodes(packet) == [TARGET, "node:my code/b c.py:g"]


SIGNATURE = "def f(x: int) -> int"
LIKELY = [edges(f"node:a.py:{tier}", tier=tier)[0] for tier in TIERS]
MANY = edges(*(f"node:a.py:f{n}" for n in range(100)))


class TestShown:
    @pytest.mark.parametrize(
        ("more", "room", "known", "shown"),
        [
            (
                {"docstring": "Says.", "complexity": 3}, 400, "",
                {"signature": SIGNATURE, "docstring": "Says.", "complexity": 3},
            ),
            (
                {"docstring": "Says.", "complexity": 3}, 400, f"{SIGNATURE}: Says. (3 lines)",
                {"complexity": 3},
            ),
            (  # what was not computed is absent
                {"callers": [], "callees": None, "related_tests": []}, 400, SIGNATURE,
                {"callers": [], "tests": []},
            ),
            (
                {"docstring_outdated": True, "has_type_hints": False, "partial": True}, 400, SIGNATURE,
                {"flags": ["docstring outdated", "type hints missing", "syntax error in the file"]},
            ),
            ({"has_type_hints": False, "node_type": "module", "signature": None}, 400, "", {}),
            (
                {"callers": LIKELY}, 400, SIGNATURE,
                {"callers": ["a.py:exact", "a.py:inferred?", "a.py:unique?", "a.py:observed"]},
            ),
            (  # links out of the project come last
                {"callees": edges("ext:os.getcwd", "node:a.py:g")}, 400, SIGNATURE,
                {"callees": ["a.py:g", "ext:os.getcwd"]},
            ),
            (
                {"callers": MANY}, 4000, SIGNATURE,
                {"callers": [f"a.py:f{n}" for n in range(8)], "fan_in": 100},
            ),
            (  # extras use the remaining room
                {"extra": {"owner": "billing", "long": "x" * 500, "n": 1}, "signature": None}, 60, "",
                {"extra": {"owner": "billing", "n": 1}},
            ),
            (
                {"fresh": False, "changed_by_user": True}, 0, "",
                {"changed_by_user": True, "fresh": False},
            ),
            (
                {"callers": [], "own_facts": "workspace"}, 400, SIGNATURE,
                {"callers": [], "links": "as before your edits"},
            ),
            ({"own_facts": "workspace"}, 400, SIGNATURE, {}),
        ],
    )  # fmt: skip
    def test_what_a_packet_shows_of_a_node(
        self, more: dict[str, Any], room: int, known: str, shown: dict[str, Any]
    ) -> None:
        assert facts_view(facts(**more), room, known=known) == shown

    def test_every_kind_of_link_is_represented(self) -> None:
        many = [f"node:a.py:f{n}" for n in range(9)]
        tests = [{"id": f"tests/test_a.py::test_{n}", "tier": "exact"} for n in range(9)]
        told = facts(callers=edges(*many), callees=edges(*many), related_tests=tests)
        view = facts_view(told, 210, known=told["signature"])
        assert {name: len(view[name]) for name in ("callers", "callees", "tests")} == {
            "callers": 3, "callees": 2, "tests": 3,
        }  # fmt: skip
        assert (view["fan_in"], view["fan_out"], view["test_count"]) == (9, 9, 9)

    def test_all_links_are_counted_even_if_not_shown(self) -> None:
        told = facts(callers=MANY) | {"counts": {"callers": 1234}}
        assert facts_view(told, 400, known="")["fan_in"] == 1234

    @given(
        room=st.integers(0, 500),
        callers=st.none() | st.lists(st.text(min_size=1, max_size=60), max_size=12),
        extra=st.dictionaries(st.text(max_size=9), st.text(max_size=90), max_size=3),
    )
    def test_hub_facts_stay_within_their_room(
        self, room: int, callers: list[str] | None, extra: dict[str, str]
    ) -> None:
        told = facts(callers=None if callers is None else edges(*callers), extra=extra)
        view = facts_view(told, room, known="")
        assert view == {} or len(canonical(view).decode()) <= room


class TestDelta:
    def test_times_go_to_a_place_of_their_own(self) -> None:
        delta = hub_delta(DecisionPacket(node_id=TARGET), {TARGET: facts(complexity=2)}, 400)
        assert delta.hub_context == {TARGET: {"signature": "def f(x: int) -> int", "complexity": 2}}
        assert delta.hub_freshness == {TARGET: "2026-01-01T00:00:00Z"}

    def test_the_same_facts_again_change_nothing(self) -> None:
        packet = DecisionPacket(node_id=TARGET)
        found = {TARGET: facts(), "node:b.py:g": facts("node:b.py:g", callers=[])}
        packet = apply(packet, hub_delta(packet, found, 900))
        assert hub_delta(packet, found, 900) == PacketDelta()

    def test_facts_of_nodes_no_longer_referenced_are_removed(self) -> None:
        packet = DecisionPacket(node_id=TARGET)
        both = {TARGET: facts(), "node:b.py:g": facts("node:b.py:g")}
        packet = apply(packet, hub_delta(packet, both, 900))
        delta = hub_delta(packet, {TARGET: facts()}, 900)
        assert delta.hub_context == {"node:b.py:g": None}
        assert apply(packet, delta).hub_freshness.keys() == {TARGET}

    def test_without_an_answer_known_facts_are_marked_not_fresh(self) -> None:
        packet = DecisionPacket(node_id=TARGET)
        packet = apply(packet, hub_delta(packet, {TARGET: facts(complexity=1)}, 900))
        packet = apply(packet, hub_delta(packet, {}, 900, keep=True))
        assert packet.hub_context[TARGET]["fresh"] is False
        assert packet.hub_context[TARGET]["complexity"] == 1
        assert packet.hub_freshness == {TARGET: "2026-01-01T00:00:00Z"}
        assert hub_delta(packet, {}, 900, keep=True) == PacketDelta()
        packet = apply(packet, hub_delta(packet, {TARGET: facts(complexity=1)}, 900))
        assert "fresh" not in packet.hub_context[TARGET]

    @given(
        room=st.integers(0, 900),
        nodes=st.lists(st.text("abc/é", min_size=1, max_size=30), unique=True, max_size=4),
    )
    def test_all_nodes_together_stay_within_the_room(self, room: int, nodes: list[str]) -> None:
        callers = edges(*(f"node:src/app.py:caller_{n}" for n in range(9)))
        found = {key: facts(key, callers=callers) for key in (TARGET, *nodes)}
        packet = DecisionPacket(node_id=TARGET)
        context = apply(packet, hub_delta(packet, found, room)).hub_context
        assert len(canonical(context).decode()) <= max(room, len(TARGET) + 10)


class Hub:
    """Answers what it was given, turn by turn; the last again and again."""

    def __init__(self, *answers: Mapping[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[list[str]] = []

    async def refresh_context(self, keys: list[str]) -> Mapping[str, Any]:
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

    def test_an_untouched_file_is_not_a_fact(self, workspace: Workspace) -> None:
        assert not sides(workspace, "f", self.BASE).changed_by_user()
        assert not NodeVersions(a_job("f", "own"), workspace, user_file=None).changed_by_user()

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

    def test_a_removed_file_is_a_change(self, workspace: Workspace) -> None:
        assert sides(workspace, "f", None).changed_by_user()

    def test_a_file_that_the_agent_left_alone_has_no_facts_of_its_own(
        self, workspace: Workspace
    ) -> None:
        assert sides(workspace, "f", None).workspace_facts(TARGET) is None
        assert sides(workspace, "f", None).workspace_facts("node:not/there.py:f") is None

    def test_facts_of_a_file_that_it_edited(self, workspace: Workspace) -> None:
        edited = b"def f(x: int) -> int:\n    return x if x else 1\n"
        workspace.set_files({"mod.py": (edited, 0o644)})
        told = sides(workspace, "f", None).workspace_facts(TARGET)
        assert told is not None
        assert (told["signature"], told["complexity"]) == ("def f(x: int) -> int", 2)
        assert sides(workspace, "f", None).workspace_facts("node:mod.py:C") == {}


class TestHook:
    def pulled(self, hub: Any, workspace: Workspace, user: bytes | None = TestSides.BASE) -> Any:
        hook = PullHook(hub, sides(workspace, "f", user), REDACT, 600)
        return asyncio.run(hook.pull(DecisionPacket(node_id=TARGET)))

    def test_no_hub_no_facts(self, workspace: Workspace) -> None:
        assert self.pulled(NoHub(), workspace, None) is None

    def test_a_users_edit_is_reported_without_a_hub(self, workspace: Workspace) -> None:
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
        assert pulled.value[TARGET]["uid"] == "u1"
        assert pulled.delta.hub_context[TARGET] == {
            "signature": "def f(x)", "flags": ["type hints missing"], "complexity": 2,
            "callers": ["a.py:g"], "links": "as before your edits",
        }  # fmt: skip

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

    def test_facts_enter_before_the_candidates_and_only_where_they_are_new(
        self, theatre: Theatre
    ) -> None:
        hub = Hub({TARGET: facts(callers=edges("node:a.py:x"))})
        played = theatre.play(
            Play(agent=theatre.tool(self.LOOK), answers=[self.ACT, SUBMIT], facts=hub)
        )
        assert hub.asked == [[TARGET], [TARGET, "node:a.py:x"]]
        (update,) = played.payloads(ContextUpdate)
        assert update.value[TARGET]["source_hash"] == "a" * 64
        assert played.types[1:4] == ["turn_start", "context_update", "model_request"]

    def test_the_model_is_shown_them(self, theatre: Theatre) -> None:
        hub = Hub({TARGET: facts(callers=edges("node:src/app.py:main"))})
        played = theatre.play(Play(agent=theatre.tool(self.LOOK), answers=[SUBMIT], facts=hub))
        asked = played.model.requests[0].messages[1].content  # type: ignore[attr-defined]
        shown = '{"signature":"def f(x: int) -> int","callers":["src/app.py:main"]}'
        assert f"Hub:\ntarget: {shown}\n" in asked
        assert "2026-01-01" not in asked
