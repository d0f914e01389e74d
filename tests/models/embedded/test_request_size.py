"""What a late request shows, counted by a real tokenizer: what the model needs, and little else."""

from collections.abc import Callable
from typing import Any

import pytest

from remora.agents.builtin_tools import BUILTIN_SCHEMAS
from remora.agents.decision.model_query import Question, request_tokens
from remora.chat import ToolSchema
from remora.memory import delta as make
from remora.memory.budget import fit
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta
from remora.memory.excerpts import code_lines
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.models.protocol import TokenCounter

NODE = "node:shop/cart.py:total"
FOCUS = 262
FINDINGS = [
    "E711 line 262: comparison to None",
    *(f"B9{n:02} line {270 + n}: the loop variable is not used in its body" for n in range(7)),
]
CODE = ["def total(rows, rates, *, rounded=True):", *["    # about prices"] * 14]
CODE += ["    if rates.get(row.code) == None:", "        missing.append(row.code)"]
CODE += [f"    {name} = prices.pop({name!r}, default)" for name in "abcdefghijklmno"]
INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
ARGUMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "fix_findings": ("Fix what has a fix.", {}),
    "read_code": ("Show lines.", {"first": INTEGER, "last": INTEGER}),
    "edit_lines": (
        "Replace lines; an empty text deletes them.",
        {"first": INTEGER, "last": INTEGER, "text": TEXT},
    ),
    "find_text": ("Show lines with a text.", {"text": TEXT}),
    "read_callers": ("Show its calls.", {"name": TEXT}),
    "run_code": ("Show what an expression gives.", {"code": TEXT}),
}
TOOLS = (
    *(
        ToolSchema(
            name=name,
            description=description,
            parameters={"type": "object", "properties": arguments, "required": [*arguments]},
        )
        for name, (description, arguments) in ARGUMENTS.items()
    ),
    *BUILTIN_SCHEMAS,
)
QUESTION = Question(strategy="grammar", history=())


def late_packet() -> DecisionPacket:
    """The packet before turn 20 of a job whose tools returned much."""
    memory = ContextManager(
        {
            "goal": "Remove the lint findings of total",
            "operation": "lint",
            "node_id": NODE,
            "node_type": "function",
            "node_summary": "def total(rows, rates, *, rounded=True) (31 lines)",
            "constraints": {"max_turns": 30, "safety": ["parses", "fewer_findings"]},
        }
    )
    for turn in range(1, 20):
        edit = {
            "first": 250 + turn,
            "last": 251 + turn,
            "text": f"    value_{turn} = rates[{turn}]",
        }
        result = {
            "tool": "edit_lines",
            "args": edit,
            "raw_output": [{"id": f"row-{turn}-{n}", "price": n + 0.5} for n in range(60)],
            "summary": f"Replaced lines {edit['first']}-{edit['last']} with 1; 8 findings left",
            "diagnostics": FINDINGS,
        }
        delta = memory.delta_for(result)
        memory.packet = apply(memory.packet, PacketDelta(turn=turn))
        memory.packet = apply(memory.packet, delta)
    excerpt = make.excerpt("code", "shop/cart.py", 247, "\n".join(CODE), FOCUS)
    suggestions = [make.candidate("leave", {"item": text}, "if it is right") for text in FINDINGS]
    update = PacketDelta(
        turn=20,
        excerpt=excerpt,
        set_error="with this text, line 262 cannot be parsed: '(' was never closed",
        candidate_actions=(*suggestions[:3], make.candidate("submit_result", {}, "if it is done")),
        hub_context={NODE: {"callers": [f"node:shop/{n}.py:run" for n in "abcd"]}},
    )
    return apply(memory.packet, update)


def tokens_of(counter: TokenCounter) -> Callable[[DecisionPacket], int]:
    return lambda packet: request_tokens(counter, packet, TOOLS, "lines/1", QUESTION)


@pytest.mark.slow
class TestALateRequest:
    @pytest.fixture
    def measure(self, embedded: Any) -> Callable[[DecisionPacket], int]:
        return tokens_of(embedded.model.counter)

    def test_of_3000_tokens(self, measure: Callable[[DecisionPacket], int]) -> None:
        packet = late_packet()
        shown = fit(packet, 3000, measure).packet
        assert len(shown.recent_actions) == 10
        assert shown.excerpt == packet.excerpt
        assert shown.diagnostics == tuple(FINDINGS)
        assert shown.knowledge

    def test_of_600_tokens(self, measure: Callable[[DecisionPacket], int]) -> None:
        shown = fit(late_packet(), 600, measure).packet
        assert len(shown.recent_actions) >= 3
        assert shown.excerpt is not None
        lines = dict(code_lines(shown.excerpt))
        assert {247, FOCUS - 1, FOCUS, FOCUS + 1} <= set(lines)
        assert shown.diagnostics[0] == FINDINGS[0]
        assert shown.last_error

    def test_a_third_of_it_is_fixed_text(self, measure: Callable[[DecisionPacket], int]) -> None:
        actions = late_packet().recent_actions
        one, two = (measure(DecisionPacket(recent_actions=actions[:n])) for n in (1, 2))
        assert one - (two - one) <= 200
