"""Share of argument values in the packet before each call, for dialogues with nested results."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import tool_dialogues as seen
import unseen_dialogues as unseen
from dialogue_world import Dialogue
from packet_values import PacketText, argument_values

from remora.memory.budget import fit
from remora.memory.canonical import canonical, to_packet_value
from remora.memory.context import ContextManager
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import prompt_context

LIMITS = (3000, 1500, 600)
PER_BYTE = 0.3
"""Tokens per byte of a usual tokenizer on JSON with names and numbers."""
DEVELOPMENT, HELD_OUT = range(12), range(1000, 1012)
COUNTERS: dict[str, Callable[[str], int]] = {
    "estimate": lambda text: (len(text.encode()) + 1) // 2,
    "tokenizer": lambda text: int(len(text.encode()) * PER_BYTE) + 1,
}


class Use(NamedTuple):
    """One argument value of one call, and why the packet lacks it (None if it does not)."""

    family: str
    depth: str
    lost: str | None


def main() -> dict[str, float]:
    """Print coverage per family, depth and limit. Return the totals of held-out dialogues."""
    totals: dict[str, float] = {}
    for name, families, seeds in (
        ("development", seen.FAMILIES, DEVELOPMENT),
        ("held out", seen.FAMILIES, HELD_OUT),
        ("unseen families", unseen.FAMILIES, HELD_OUT),
    ):
        given = list(seen.dialogues(families, seeds))
        for counter in COUNTERS:
            for limit in LIMITS:
                start = time.perf_counter()
                uses = [use for one in given for use in _uses(one, counter, limit)]
                seconds = time.perf_counter() - start
                print(f"{name}, {counter}, {limit} tokens ({seconds:.1f} s)")
                _print_table(uses)
                totals[f"{name} {counter} {limit}"] = _share(uses)
    return totals


def _print_table(uses: Sequence[Use]) -> None:
    for column in ("family", "depth"):
        groups = dict.fromkeys(getattr(use, column) for use in uses)
        shares = (
            f"{group} {_share([use for use in uses if getattr(use, column) == group]):.3f}"
            for group in groups
        )
        print("  " + "  ".join(shares))
    causes = Counter(use.lost for use in uses if use.lost)
    lost = "  ".join(f"{cause} {number}" for cause, number in causes.most_common())
    print(f"  all {_share(uses):.4f} of {len(uses)}; lost: {lost}")


def _share(uses: Sequence[Use]) -> float:
    return sum(use.lost is None for use in uses) / len(uses)


def _uses(dialogue: Dialogue, counter: str, limit: int) -> Iterator[Use]:
    """Yield the values that occurred before the call that has them."""
    count = COUNTERS[counter]
    context = ContextManager({"goal": dialogue.goal})
    earlier: list[tuple[str, Any]] = [("goal", dialogue.goal)]
    deltas: list[str] = []

    def measure(packet: DecisionPacket) -> int:
        return count(canonical(prompt_context(packet)).decode())

    for turn, call in enumerate(dialogue.calls, 1):
        context.apply_event({"type": "turn_start", "turn": turn})
        shown = PacketText(fit(context.packet, limit, measure).packet)
        whole = PacketText(context.packet)
        known = PacketText(DecisionPacket(extensions={"all": [value for _, value in earlier]}))
        for depth, value in _values(call.args):
            if not known.has(value):
                continue
            lost = None
            if not shown.has(value):
                lost = "trimmed" if whole.has(value) else _cause(value, earlier, deltas)
            yield Use(dialogue.family, depth, lost)
        data = {"args": call.args, "raw_output": call.result}
        delta = context.apply_event({"type": "tool_result", "tool": call.tool, "data": data})
        deltas.append(canonical(delta).decode())
        earlier += [("result", call.result), ("arguments", call.args)]


def _cause(value: str, earlier: Sequence[tuple[str, Any]], deltas: Sequence[str]) -> str:
    if any(value in delta for delta in deltas):
        return "overwritten"
    origins = ((place, one) for place, one in reversed(earlier) if _holds(one, value))
    place: str
    place, source = next(origins)
    if place != "result":
        return place
    if isinstance(source, str):
        return "plain text"
    if value not in argument_values(to_packet_value(source)):
        return "inside a text"
    return "long text" if len(value) > 120 else "large result"


def _holds(source: Any, value: str) -> bool:
    packet = DecisionPacket(extensions={"all": source})
    return PacketText(packet).has(value)


def _values(arguments: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the values of the arguments, each with how deep it is."""
    for argument in arguments.values():
        depth = "flat"
        if isinstance(argument, dict):
            depth = "record"
        elif isinstance(argument, list):
            depth = "records" if argument and isinstance(argument[0], dict) else "list"
        for value in argument_values(argument):
            yield depth, value


if __name__ == "__main__":
    main()
