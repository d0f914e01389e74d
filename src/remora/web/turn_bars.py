"""The bars of an agent's turns: how large or how slow each was, and how it ended."""

from typing import NamedTuple

from remora.web.agent_records import AgentRecord

_MOST = 600
"""Bars of a picture. With more turns, each bar shows several."""


_LEAST = 6


class Bar(NamedTuple):
    """The turns from `first` to `last`. `height` is from 0 to 100."""

    first: int
    last: int
    height: int
    state: str


def turn_bars(agent: AgentRecord) -> list[Bar]:
    """Return the bars of all turns of an agent.

    The height is the size of the prompt, or the time of the tool if no model was asked. A bar for
    several turns shows the largest and the worst of them.
    """
    rows = agent.rows(0, 1 << 40)
    has_prompts = any(row.prompt_tokens for row in rows)
    sizes = [row.prompt_tokens if has_prompts else row.tool_ms for row in rows]
    most = max(sizes, default=0) or 1
    step = -(-len(rows) // _MOST) or 1
    return [
        Bar(
            first=rows[place].turn,
            last=rows[place : place + step][-1].turn,
            height=max(_LEAST, round(100 * max(sizes[place : place + step]) / most)),
            state=min((row.state for row in rows[place : place + step]), key=_ORDER.index),
        )
        for place in range(0, len(rows), step)
    ]


_ORDER = ("damaged", "error", "partial", "open", "success")
