"""The part of a share file that shows an agent: the rows of its turns, and their tabs as HTML."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from remora.errors import RemoraError
from remora.runs.project import Project
from remora.web.html_responses import render
from remora.web.page_links import FileLinks
from remora.web.share.redacted_records import SharedAgent
from remora.web.tabs.tab_list import TABS, tab_values
from remora.web.turn_bars import turn_bars
from remora.web.turn_rows import TurnRow

_MOST_ROWS = 1_000
_EDGE = 50
"""First and last turns that always have a row."""
_OF_TURN = [tab for name, tab in TABS.items() if name not in ("why", "events")]
"""Tabs that each turn has. The others are the same for all turns, or made from the lines."""
MOST_TURNS = 200
"""Turns of an agent that are shown whole, if they are not too long."""


class AgentPart(msgspec.Struct, frozen=True, kw_only=True):
    """An agent in a share file. `cause` is its why line, and `size` the length of its turns."""

    agent_id: str
    run_id: str | None
    cause: str
    has_failed: bool
    size: int
    html: Markup


def agent_part(project: Project, path: Path, links: FileLinks, most: int) -> AgentPart:
    """Return an agent's part of a file. Its turns take about `most` characters.

    Raises DiskError or StreamDamaged if its stream cannot be read at all.
    """
    agent = SharedAgent(project, path)
    look_at = agent.turn_to_show
    order = by_importance(agent.every_row, look_at)
    agent.read_packets(order[:MOST_TURNS])
    turns = _turns(agent, order[:MOST_TURNS], links, most)
    html = render(
        "share/agent.html",
        link=links,
        agent=agent,
        turn=look_at,
        tab="why" if agent.has_failed else "packet",
        tabs=TABS.values(),
        rows=list(listed_rows(agent.every_row, order)),
        bars=turn_bars(agent),
        why=_why(agent),
        turns=dict(sorted(turns.items())),
        turns_left=len(agent.every_row) - len(turns),
    )
    return AgentPart(
        agent_id=agent.agent_id,
        run_id=agent.first.run_id if agent.first is not None else None,
        cause=_cause(agent),
        has_failed=agent.has_failed,
        size=sum(map(len, turns.values())),
        html=Markup(html),  # noqa: S704 (a template escaped it)
    )


def _turns(
    agent: SharedAgent, order: Iterable[int], links: FileLinks, most: int
) -> dict[int, Markup]:
    """Return turns with their tabs: as many of the first ones as fit, but at least one."""
    rows = {row.turn: row for row in agent.every_row}
    found: dict[int, Markup] = {}
    for turn in order:
        tabs = [tab_values(agent, turn, tab.name, None) for tab in _OF_TURN]
        html = render(
            "share/turn.html",
            link=links,
            agent=agent,
            row=rows[turn],
            turn=turn,
            shown=tabs,
            is_open=not found,
        )
        most -= len(html)
        if found and most < 0:
            break
        found[turn] = Markup(html)  # noqa: S704 (a template escaped it)
    return found


def _why(agent: SharedAgent) -> dict[str, Any]:
    """Return what the tab *Why* shows."""
    try:
        return {"tab": TABS["why"], "problem": None, "values": {"diagnosis": agent.diagnosis}}
    except RemoraError as error:
        return {"tab": TABS["why"], "problem": error, "values": {}}


def _cause(agent: SharedAgent) -> str:
    with suppress(RemoraError):
        return agent.diagnosis.cause.sentence
    return ""


def by_importance(rows: Sequence[TurnRow], look_at: int) -> list[int]:
    """Return the numbers of all turns: the one to look at, the first, the last, the ones around
    failures, and then the others in order.
    """
    places = {row.turn: place for place, row in enumerate(rows)}
    failed = [place for place, row in enumerate(rows) if row.state in ("error", "damaged")]
    nearby = chain.from_iterable((place, place - 1, place + 1) for place in failed)
    first = [places.get(look_at, 0), 0, 1, len(rows) - 1]
    order = dict.fromkeys(chain(first, nearby, range(len(rows))))
    return [rows[place].turn for place in order if 0 <= place < len(rows)]


def listed_rows(
    rows: Sequence[TurnRow], important: Iterable[int], most: int = _MOST_ROWS
) -> Iterator[TurnRow | range]:
    """Yield the rows to show. Turns without a row are given as a range."""
    if len(rows) <= most:
        yield from rows
        return
    edges = {row.turn for row in (*rows[:_EDGE], *rows[-_EDGE:])}
    ordered = chain(edges, (turn for turn in important if turn not in edges))
    kept = {turn for turn, _ in zip(ordered, range(most), strict=False)}
    left_out: list[int] = []
    for row in rows:
        if row.turn not in kept:
            left_out.append(row.turn)
            continue
        if left_out:
            yield range(left_out[0], left_out[-1] + 1)
            left_out = []
        yield row
