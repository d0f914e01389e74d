"""The part of a share file that shows an agent: the rows of its turns, and their tabs as HTML."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from markupsafe import Markup

from remora.errors import RemoraError
from remora.memory.events import Event
from remora.memory.packet import DecisionPacket
from remora.runs.diagnosis.why_line import Diagnosis
from remora.runs.project import Project
from remora.trace.redact.redactor import Redactor
from remora.trace.trace_folder import stream_id
from remora.web.addresses import FileLinks
from remora.web.agent_records import ROWS, AgentRecord, TurnRecord
from remora.web.html_responses import render
from remora.web.tabs.tab_list import TABS, tab_values
from remora.web.turn_rows import TurnRow

_OF_TURN = [tab for name, tab in TABS.items() if name not in ("why", "events")]
"""Tabs that each turn has. The others are the same for all turns, or made from the lines."""
MOST_TURNS = 200
"""Turns of an agent that are shown whole, if they are not too long."""

_T = TypeVar("_T")


class _SharedAgent(AgentRecord):
    """An agent's stream without secrets."""

    def __init__(self, project: Project, path: Path) -> None:
        super().__init__(project, stream_id(path), path)
        self.redact = project.redact

    @cached_property
    def is_large(self) -> bool:
        """False: a share file takes the time to read the whole stream."""
        return False

    @cached_property
    def every_row(self) -> list[TurnRow]:
        """The rows of all turns."""
        return [_redacted(row, self.redact) for row in super().rows(0, None)]

    def packet(self, turn: int, *, shown: bool = True) -> DecisionPacket:
        """Return a packet that was read. Raises StreamDamaged if a line before it is damaged."""
        return _redacted(super().packet(turn, shown=shown), self.redact)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Why the agent failed."""
        return _redacted(super().diagnosis, self.redact)

    def rows(self, first: int = 0, number: int | None = ROWS) -> Iterator[TurnRow]:
        """Yield the rows of `number` turns, or of all, from the turn `first` or the next one on."""
        return islice((row for row in self.every_row if row.turn >= first), number)

    @cached_property
    def start(self) -> dict[str, Any]:
        """The data of `agent_start`, or nothing if it cannot be read."""
        return self.redact.clean(super().start)

    def turn(self, turn: int) -> "_SharedTurn":
        """Return a turn. Raises NotFound if there is none with this number."""
        return _SharedTurn(self, turn, super().turn(turn).lines)


class _SharedTurn(TurnRecord):
    """A turn without secrets."""

    agent: _SharedAgent

    @property
    def row(self) -> TurnRow:
        """The row of the turn."""
        return _redacted(super().row, self.agent.redact)

    def resolved(self, event: Event) -> dict[str, Any]:
        """Return the data of an event, with texts that are stored elsewhere."""
        return self.agent.redact.clean(super().resolved(event))

    def is_exact(self, event: Event) -> bool:
        """Return True if `resolved` returns what was recorded, which has no secrets."""
        data = super().resolved(event)
        return self.agent.redact.clean(data) is data

    def content(self, digest: str) -> bytes:
        """Return the content of a file that the turn changed."""
        return self.agent.redact.data(super().content(digest))

    def _resolved_or_recorded(self, event: Event) -> dict[str, Any]:
        return self.agent.redact.clean(super()._resolved_or_recorded(event))


class AgentPart(msgspec.Struct, frozen=True, kw_only=True):
    """An agent in a share file."""

    agent_id: str
    run_id: str | None
    cause: str
    """The why line, or an empty string."""
    has_failed: bool
    size: int
    """The length of the turns in `html`."""
    html: Markup


def agent_part(project: Project, path: Path, links: FileLinks, most: int) -> AgentPart:
    """Return an agent's part of a file. Its turns take about `most` characters.

    Raises DiskError or StreamDamaged if its stream cannot be read at all.
    """
    agent = _SharedAgent(project, path)
    look_at = agent.turn_to_show
    order = by_importance(agent.every_row, look_at)
    agent.read_packets({*order[:MOST_TURNS]}, agent.last_turn)
    turns = _turns(agent, order[:MOST_TURNS], links, most)
    html = render(
        "share/agent.html",
        link=links,
        agent=agent,
        turn=look_at,
        tab="why" if agent.has_failed else "turn",
        tabs=TABS.values(),
        rows=agent.every_row,
        why=tab_values(agent, look_at, "why"),
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
    agent: _SharedAgent, order: Iterable[int], links: FileLinks, most: int
) -> dict[int, Markup]:
    """Return turns with their tabs: as many of the first ones as fit, but at least one."""
    rows = {row.turn: row for row in agent.every_row}
    found: dict[int, Markup] = {}
    for turn in order:
        tabs = [tab_values(agent, turn, tab.name) for tab in _OF_TURN]
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


def _cause(agent: _SharedAgent) -> str:
    with suppress(RemoraError):
        return agent.diagnosis.cause.sentence
    return ""


def by_importance(rows: Sequence[TurnRow], look_at: int) -> list[int]:
    """Return the numbers of all turns: the one to look at, the first, the last, the ones around
    failures, and then the others in order.
    """
    places = {row.turn: place for place, row in enumerate(rows)}
    failed = [place for place, row in enumerate(rows) if row.has_failed]
    nearby = chain.from_iterable((place, place - 1, place + 1) for place in failed)
    first = [places.get(look_at, 0), 0, 1, len(rows) - 1]
    order = dict.fromkeys(chain(first, nearby, range(len(rows))))
    return [rows[place].turn for place in order if 0 <= place < len(rows)]


def _redacted(record: _T, redact: Redactor) -> _T:
    """Return a record without secrets."""
    values = msgspec.to_builtins(record)
    clean = redact.clean(values)
    return record if clean is values else msgspec.convert(clean, type(record))
