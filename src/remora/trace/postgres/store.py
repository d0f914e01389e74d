"""Trace store that keeps each stream in rows of a PostgreSQL database."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psycopg

from remora.errors import (
    DatabaseError,
    NotFound,
    SeqConflict,
    StreamError,
    StreamLocked,
    StreamWriteFailed,
    UsageError,
    WriterReplaced,
)
from remora.ids import is_id
from remora.memory.events import AgentEnd, Event, Head, decode_event
from remora.trace.postgres.database import Database
from remora.trace.postgres.owner import Owner
from remora.trace.postgres.stream_lines import SELECT_ROWS, StreamRow, read_pages
from remora.trace.read.reader import parse_event
from remora.trace.stream.trace_store import Claim

_RENEW = """
UPDATE streams SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
FROM unnest(%(ids)s::bigint[], %(epochs)s::bigint[]) AS mine (stream, claimed)
WHERE id = mine.stream AND epoch = mine.claimed AND owner IS NOT NULL
"""

_CREATE = """
INSERT INTO streams (project, name) VALUES (%(project)s, %(name)s) ON CONFLICT DO NOTHING
"""
_CLAIM = """
UPDATE streams
SET epoch = epoch %% 1000000000000000 + 1, owner = %(owner)s,
    deaths = least(deaths, 999999999) + (owner IS NOT NULL AND owner <> %(owner)s)::int,
    lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
WHERE project = %(project)s AND name = %(name)s
    AND (owner IS NULL OR owner IN (%(owner)s, %(dead)s)
        OR lease_until NOT BETWEEN clock_timestamp() AND clock_timestamp() + interval '1 day')
RETURNING id, month, name, epoch, next_seq, head, bytes, owner, closed, 0::float, deaths
"""
# One statement compares the epoch and the number of lines, moves the head and inserts the lines.
_APPEND = """
WITH moved AS (
    UPDATE streams
    SET next_seq = next_seq + %(count)s, head = %(head)s,
        lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
        closed = %(closed)s, run_id = %(run_id)s, operation = %(operation)s,
        node_id = %(node_id)s, turn = %(turn)s, status = %(status)s, bytes = bytes + %(bytes)s,
        ended = CASE WHEN %(closed)s THEN clock_timestamp() END
    WHERE id = %(id)s AND epoch = %(epoch)s AND next_seq = %(seq)s
        AND owner IS NOT NULL AND NOT closed
    RETURNING id, month
)
INSERT INTO events (month, stream, seq, lines)
SELECT month, id, %(seq)s, %(lines)s FROM moved
"""
_RELEASE = """
UPDATE streams SET owner = NULL, lease_until = NULL WHERE id = %(id)s AND epoch = %(epoch)s
"""
_AGENTS = """
SELECT name, status, owner IS NOT NULL, deaths FROM streams
WHERE project = %(project)s AND name = ANY (%(names)s) AND run_id IS NOT NULL
"""
_ENDED = """
SELECT name, status, next_seq, head, ended FROM streams
WHERE project = %(project)s AND run_id = %(run_id)s AND ended >= %(since)s
"""
_BY_NAME = f"{SELECT_ROWS} AND name = %(name)s"
_BY_ID = f"{SELECT_ROWS} AND id = %(id)s"


class AgentRow(NamedTuple):
    """The state of an agent's stream."""

    agent_id: str
    status: str | None
    """The status in `agent_end`, or None until then."""
    is_claimed: bool
    deaths: int
    """The number of writers that died, or lost their lease, before they released it."""


class EndedRow(NamedTuple):
    """An agent's stream that has ended."""

    agent_id: str
    status: str
    events: int
    """The number of its events."""
    head: str
    """The hash of the last one."""
    ended: datetime
    """The time of the last append."""


class _Claimed(NamedTuple):
    """A stream's row and its epoch, while this store is its writer."""

    id: int
    epoch: int


class _End(msgspec.Struct):
    status: str


class PostgresTraceStore:
    """Streams of one project in a database.

    A claim is a lease on the database's clock, which appends and a thread renew. The epoch of the
    claim is compared by each append, so a writer whose lease was taken over writes nothing.
    """

    appends_turns = True

    def __init__(self, database: Database, project: str, *, lease_s: int = 30) -> None:
        self.project = project
        """Key of the project whose streams are stored."""
        self._database = database
        self._lease_s = lease_s
        self._owner = Owner.of_this_process()
        self._claimed: dict[str, _Claimed] = {}
        self._lock = threading.Lock()
        self._renewal = LeaseRenewal(database, lease_s)

    def claim(self, stream: str) -> Claim:
        """Claim a stream. The stream of a process that died on this machine can be claimed at once,
        any other one when its lease has ended.

        Raises StreamLocked with the name of the owner, StreamDamaged if the last line is not an
        event, and DatabaseError.
        """
        names = self._names(stream)
        if stream in self._claimed:
            raise StreamLocked(f"{stream} is already open in this process")
        owner = self._owner.encode()
        self._database.run(lambda connection: connection.execute(_CREATE, names))
        wanted = {**names, "owner": owner, "lease_s": self._lease_s, "dead": None}
        rows = self._database.rows(_CLAIM, wanted)
        if not rows:
            wanted["dead"] = self._dead_owner(stream)
            rows = self._database.rows(_CLAIM, wanted)
        if not rows:
            raise StreamLocked(f"{stream} was claimed by another process", hint="try again")
        *fields, deaths = rows[0]
        row = StreamRow(*fields)
        claimed = _Claimed(row.id, row.epoch)
        last = self._last_event(row)
        with self._lock:
            self._claimed[stream] = claimed
        self._renewal.add(claimed.id, claimed.epoch)
        return Claim(
            epoch=claimed.epoch,
            head=_head(row),
            last=last,
            deaths=deaths,
        )

    def append(self, stream: str, epoch: int, expected_seq: int, *lines: bytes) -> None:
        """Append lines in one statement. If the connection is lost before its outcome is known, the
        number of lines in the database decides whether it is repeated.
        """
        claimed = self._current_claim(stream, epoch)
        values = self._append_values(claimed, expected_seq, lines)

        def attempt(number: int) -> None:
            appended = self._database.once(
                lambda connection: connection.execute(_APPEND, values).rowcount
            )
            if not appended:
                row = self._database.once(
                    lambda connection: connection.execute(_BY_ID, values).fetchone()
                )
                state = None if row is None else StreamRow(*row)
                _check_repeated(stream, state, values, is_repeated=number > 0)

        try:
            self._database.retry(attempt)
        except DatabaseError as error:
            raise StreamWriteFailed(f"{stream}: {error.message}", hint=error.hint) from error

    def sync(self, stream: str, epoch: int) -> None:
        """Check the claim. Each append is committed, so there is nothing to sync."""
        self._current_claim(stream, epoch)

    def release(self, stream: str, epoch: int) -> None:
        """Release the claim. If the database cannot be reached, the lease ends by itself."""
        with self._lock:
            claimed = self._claimed.get(stream)
            if claimed is None or claimed.epoch != epoch:
                return
            del self._claimed[stream]
        self._renewal.remove(claimed.id)
        with suppress(psycopg.Error):
            self._database.once(lambda connection: connection.execute(_RELEASE, claimed._asdict()))

    def head(self, stream: str) -> Head:
        return _head(self._row(stream))

    def lines(self, stream: str, start: int = 0) -> Iterator[bytes]:
        return self._lines(self._row(stream), start)

    def _lines(self, row: StreamRow, start: int) -> Iterator[bytes]:
        for page in read_pages(self._database, row, max(start, 0), row.next_seq):
            yield from page[:-1].split(b"\n")

    def states_of(self, agents: Iterable[str]) -> list[AgentRow]:
        """Return the state of each of the agents whose stream has events."""
        values = {"project": self.project, "names": [f"traces/{name}" for name in agents]}
        rows = self._database.rows(_AGENTS, values)
        return [AgentRow(name.removeprefix("traces/"), *rest) for name, *rest in rows]

    def ended_agents(self, run_id: str, since: datetime) -> list[EndedRow]:
        """Return the agents of a run that have ended at `since` or later."""
        values = {"project": self.project, "run_id": run_id, "since": since}
        rows = self._database.rows(_ENDED, values)
        return [EndedRow(name.removeprefix("traces/"), *rest) for name, *rest in rows]

    def _row(self, stream: str) -> StreamRow:
        for row in self._database.rows(_BY_NAME, self._names(stream)):
            return StreamRow(*row)
        raise NotFound(f"no stream {stream} in {self._database.address}")

    def _last_event(self, row: StreamRow) -> Event | None:
        last = next(self._lines(row, row.next_seq - 1), None) if row.next_seq else None
        return None if last is None else parse_event(last, None, Path(row.name))

    def _dead_owner(self, stream: str) -> str:
        """Return the text of the owner if its process has died. Raises StreamLocked otherwise."""
        row = self._row(stream)
        owner = Owner.decode(row.owner) if row.owner else None
        if owner is not None and owner.has_died:
            return str(row.owner)
        raise StreamLocked(
            f"{stream} is being written by {_owner_name(row.owner)}",
            hint="wait until that process finishes, or stop it; if its machine is lost, try again "
            f"in {max(ceil(row.lease_s), 1)} s",
        )

    def _append_values(
        self, claimed: _Claimed, seq: int, lines: tuple[bytes, ...]
    ) -> dict[str, Any]:
        last = decode_event(lines[-1][:-1])
        closed = last.type == AgentEnd.type
        return {
            "project": self.project,
            "id": claimed.id,
            "epoch": claimed.epoch,
            "seq": seq,
            "count": len(lines),
            "lines": b"".join(lines),
            "head": last.hash,
            "lease_s": self._lease_s,
            "closed": closed,
            "run_id": last.run_id,
            "operation": last.operation,
            "node_id": last.node_id,
            "turn": last.turn,
            "status": msgspec.json.decode(last.data, type=_End).status if closed else None,
            "bytes": sum(map(len, lines)),
        }

    def _current_claim(self, stream: str, epoch: int) -> _Claimed:
        claimed = self._claimed.get(stream)
        if claimed is None or claimed.epoch != epoch:
            raise WriterReplaced(f"{stream} is no longer open in this writer")
        return claimed

    def _names(self, stream: str) -> dict[str, Any]:
        if not all(is_id(part) for part in stream.split("/")):
            raise UsageError(f"{stream!r} is not a valid stream name")
        return {"project": self.project, "name": stream}


def _head(row: StreamRow) -> Head:
    return Head(count=row.next_seq, hash=row.head) if row.next_seq else Head()


def _owner_name(text: str | None) -> str:
    owner = Owner.decode(text) if text else None
    return "another process" if owner is None else owner.name


def _check_repeated(
    stream: str, state: StreamRow | None, values: dict[str, Any], *, is_repeated: bool
) -> None:
    """Return if an earlier attempt has appended the lines. Raises the reason why they cannot be
    appended otherwise.
    """
    if state is None or state.epoch != values["epoch"] or state.owner is None:
        raise WriterReplaced(
            f"{stream} was taken over by {_owner_name(state and state.owner)}",
            hint="this process was not heard of for longer than postgres.lease_s",
        )
    end = values["seq"] + values["count"]
    if is_repeated and (state.next_seq, state.head) == (end, values["head"]):
        return
    if state.closed:
        raise StreamError(f"{stream} has ended; no events are allowed after agent_end")
    lost = ""
    if state.next_seq < values["seq"]:
        lost = "; if it was restored or failed over, the last events are lost"
    raise SeqConflict(
        f"{stream} has {state.next_seq} lines in the database, not {values['seq']}{lost}"
    )


class LeaseRenewal:
    """Renews all leases in a thread, three times per lease. The thread runs while there are any.

    A renewal that fails is tried again at the next time. A lease that was lost is found by the next
    append.
    """

    def __init__(self, database: Database, lease_s: int) -> None:
        self._database = database
        self._lease_s = lease_s
        self._leases: dict[int, int] = {}
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, stream: int, epoch: int) -> None:
        with self._change:
            self._leases[stream] = epoch
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="remora-leases")
                self._thread.start()

    def remove(self, stream: int) -> None:
        with self._change:
            self._leases.pop(stream, None)
            self._change.notify_all()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: not self._leases, timeout=self._lease_s / 3)
                if not self._leases:
                    self._thread = None
                    return
                leases = dict(self._leases)
            self._renew(leases)

    def _renew(self, leases: dict[int, int]) -> None:
        values = {"lease_s": self._lease_s, "ids": list(leases), "epochs": list(leases.values())}
        with suppress(psycopg.Error):
            self._database.once(lambda connection: connection.execute(_RENEW, values))
