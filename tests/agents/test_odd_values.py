"""What a tool returns is in the stream as it was, or in a marked form; nothing breaks on the way."""

from typing import Any

from remora.memory.decode_values import decode_value
from remora.memory.encode_values import encode_value
from remora.memory.events import ToolCalled, ToolResulted
from tests.agents.conftest import SUBMIT, Play, Played, Theatre

ACT = '{"tool":"act","args":{}}'
ODD = r"""
deep = "the end"
for _ in range(40):
    deep = [deep]
odd = {
    "nan": float("nan"), "inf": [float("inf"), float("-inf")], "big": [2**70, -(2**64), 10**5000],
    "bytes": b"\xff\x00", "separator": "\u2028\x85", "nul": "\x00", "half": 0.5,
    "keys": {1: "one", None: [], (2, b"k"): 2.5, "$float": "nan"}, "mark": {"$bytes": "AA=="},
    "deep": deep,
}
"""


def odd() -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(ODD, scope)
    return dict(scope["odd"])


def result(played: Played) -> ToolResulted:
    return played.payloads(ToolResulted)[0]  # type: ignore[no-any-return]


def same(one: Any, other: Any) -> bool:
    """As `==`, but NaN is NaN and 1 is not true."""
    return bool(encode_value(one) == encode_value(other))


def test_the_contracts_own_fields_may_hold_anything(theatre: Theatre) -> None:
    script = ODD + """
action = {"tool": "act", "args": {"x": odd}, "reason": "\\x00\\u2028"}
{"result": odd, "summary": "odd\\x00", "outcome": "partial", "knowledge_delta": {"a": odd, 3: odd},
 "diagnostics": [odd], "candidate_actions": [action], "state_summary": "\\u2028",
 "excerpt": {"ref": "r", "path": "p", "lines": [2**62, 2**62], "text": "\\x00"},
 "extensions": odd}
"""  # fmt: skip
    agent = theatre.tool(script, more="packet_extension: {type: object, maxProperties: 0}")
    played = theatre.play(Play(agent=agent, answers=[ACT, SUBMIT]))
    found = result(played)
    assert (found.outcome, found.error_kind) == ("partial", None)
    assert same(decode_value(found.parsed_output), odd())
    assert same(decode_value(found.raw_output)["knowledge_delta"], {"a": odd(), 3: odd()})
    packet = played.runner.context.packet
    assert packet.knowledge.keys() == {"a", "3"}
    assert packet.excerpt is not None
    assert packet.excerpt.lines == (1, 1)


def test_a_candidates_script_may_offer_anything(theatre: Theatre) -> None:
    agent = theatre.agent(
        """
        name: own
        operation: own
        goal: Look
        candidates: find.pym
        tools:
          - {name: act, script: act.pym}
        """,
        act="1",
        find=ODD + "{'result': odd, 'summary': 's', 'candidate_actions':"
        " [{'tool': 'act', 'args': odd, 'reason': ''}, {'tool': 'act', 'args': {}, 'reason': ''}]}",
    )
    played = theatre.play(Play(agent=agent, answers=[ACT, SUBMIT], max_turns=2))
    assert "agent_error" not in played.types
    assert [call.tool for call in played.payloads(ToolCalled)][:1] == ["act"]


def test_a_summarizers_script_sees_the_marked_forms(theatre: Theatre) -> None:
    agent = theatre.agent(
        """
        name: own
        operation: own
        goal: Look
        tools:
          - {name: act, script: act.pym, summarizer: tell.pym}
        """,
        act=ODD + "odd",
        tell="""
        from remora.pym import Input
        raw: dict[str, object] = Input("raw")
        {"summary": f"{raw['nan']} {raw['bytes']}", "knowledge": {"half": raw["half"]}}
        """,
    )
    played = theatre.play(Play(agent=agent, answers=[ACT, SUBMIT]))
    action = played.runner.context.packet.recent_actions[0]
    assert action.summary == "{'$float': 'nan'} {'$bytes': '/wA='}"
