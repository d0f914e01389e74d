"""The bars of an agent's turns: how large or how slow each was, and how it ended."""

from typing import NamedTuple

from remora.web.agent_records import AgentRecord

_MOST = 600
"""Bars of a picture. With more turns, each bar shows several."""
_LEAST = 6


class Bar(NamedTuple):
    """One turn or several. `height` is from 0 to 100."""

    height: int
    state: str


def turn_bars(agent: AgentRecord) -> list[Bar]:
    """Return the bars of all turns of an agent.

    The height is the size of the prompt, or the time of the tool if no model was asked. A bar for
    several turns shows the largest and the worst of them.
    """
    turns = [(row.prompt_tokens, row.tool_ms, row.state) for row in agent.rows(0, None)]
    has_prompts = any(tokens for tokens, _, _ in turns)
    sizes = [tokens if has_prompts else ms for tokens, ms, _ in turns]
    most = max(sizes, default=0) or 1
    step = -(-len(turns) // _MOST) or 1
    return [
        Bar(
            height=max(_LEAST, round(100 * max(sizes[place : place + step]) / most)),
            state=min((state for *_, state in turns[place : place + step]), key=_ORDER.index),
        )
        for place in range(0, len(turns), step)
    ]


_ORDER = ("damaged", "error", "partial", "open", "success")
