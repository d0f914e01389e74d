"""Prefix cache: tokens that the embedded model evaluates after the first turn."""

import asyncio
import os
from pathlib import Path

from remora.agents.definition.agent import load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.config.schema import ModelConfig
from remora.config.user_folders import UserFolders
from remora.memory.delta import PacketDelta, candidate, new_action
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.memory.prompt.base import LABELS
from remora.memory.prompt.render import render
from remora.models.protocol import Decoding, Model, Request
from remora.models.provider import open_model
from remora.operations.lint.operation import LINT

TURNS = 8


def main() -> dict[str, float]:
    """Return evaluated tokens from turn 2 on, as a share of the packet's own tokens."""
    cache = UserFolders.from_environ(os.environ).cache
    model = open_model(ModelConfig(), cache=Path(cache), api_key=None)
    own, evaluated, whole = asyncio.run(_turns(model))
    ratio = evaluated / own
    print(f"evaluated / packet's own tokens      {ratio:6.2f} x   (aim <= 1.10)")
    print(f"evaluated / whole requests           {evaluated / whole:6.2f} x")
    return {"evaluated_over_packet": ratio, "evaluated_over_whole": evaluated / whole}


async def _turns(model: Model) -> tuple[int, int, int]:
    """Return tokens of the packets, evaluated tokens and tokens of the whole requests, after turn 1."""
    tools = load_agent(LINT.folder, BUILT_IN, builtin=True).schemas
    own = evaluated = whole = 0
    packet = _first()
    try:
        for turn in range(1, TURNS + 1):
            packet = apply(packet, _delta(turn))
            messages = render("lines/1", packet, tools, "rank").messages or ()
            labels = LABELS[: len(packet.candidate_actions)]
            decoding = Decoding(strategy="rank", labels=labels, max_tokens=1)
            answer = await model.ask(Request(messages=messages, decoding=decoding))
            if turn > 1:
                own += model.counter.count_text(messages[1].content)
                evaluated += answer.usage.evaluated or 0
                whole += answer.usage.prompt_tokens or 0
    finally:
        await model.aclose()
    return own, evaluated, whole


def _first() -> DecisionPacket:
    return DecisionPacket(
        goal="Remove the lint findings of load_catalog",
        operation="lint",
        node_id="node:shop/catalog.py:load_catalog",
        node_type="function",
        node_summary="def load_catalog(path: Path) -> Catalog: Read a catalogue. (18 lines)",
    )


def _delta(turn: int) -> PacketDelta:
    edit = {"line": 40 + turn, "expect": "    except:", "replace": "    except Exception:"}
    return PacketDelta(
        turn=turn,
        add_action=new_action("edit_line", edit, f"Edited line {40 + turn}: 1 fewer", "success"),
        diagnostics=tuple(f"line {40 + n}: E722 do not use bare except" for n in range(turn, 9)),
        candidate_actions=(
            candidate("edit_line", edit, "catch errors, not exit or interrupt"),
            candidate("read_code", {}, "look at the code first"),
            candidate("submit_result", {}, f"leave the other {9 - turn}"),
        ),
    )


if __name__ == "__main__":
    main()
