"""Database rows of observed calls, tests and values."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from remora.hub.node import ObservedValues
from remora.hub.observed_links import Observation, ObservedCall, ObservedFunction, merge_values

Row = tuple[str, str, str, str]
ValuesRow = tuple[str, str, str]


class ObservationChanges(NamedTuple):
    """Changes that an observation makes to the stored rows.

    They are empty if the observation contains nothing new.
    """

    calls: tuple[Row, ...]
    tests: tuple[Row, ...]
    no_more: tuple[Row, ...]
    values: tuple[ValuesRow, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Sorted keys of the nodes whose links or tests change."""
        ends = {key for row in self.calls for key in row[:2]}
        nodes = {row[0] for row in (*self.tests, *self.no_more, *self.values)}
        return tuple(sorted(ends | nodes))

    def write(self, db: sqlite3.Connection) -> None:
        """Write the changes. The caller must have started a transaction."""
        many = db.executemany
        many("DELETE FROM observed_tests WHERE node = ? AND id = ?", [r[:2] for r in self.no_more])
        many("INSERT OR REPLACE INTO observed_tests VALUES (?, ?, ?, ?)", self.tests)
        many("INSERT OR REPLACE INTO observed_calls VALUES (?, ?, ?, ?)", self.calls)
        many("INSERT OR REPLACE INTO observed_values VALUES (?, ?, ?)", self.values)


def compare_observation(db: sqlite3.Connection, observation: Observation) -> ObservationChanges:
    """Compare an observation with the stored rows.

    Calls and values are added. Rows of tests that ran are replaced.
    """
    now = {(each.node, each.id, each.test, each.anchor) for each in observation.tests}
    known = {
        row
        for each in dict.fromkeys((*observation.ran, *(test.id for test in observation.tests)))
        for row in db.execute("SELECT * FROM observed_tests WHERE id = ?", (each,))
    }
    ran = set(observation.ran)
    stored = {row[:2] for row in now}
    removed = {row for row in known - now if row[1] in ran and row[:2] not in stored}
    calls = (_merged_row(db, call) for call in _merge_calls(observation.calls))
    return ObservationChanges(
        calls=tuple(row for row in calls if row is not None),
        tests=tuple(sorted(now - known)),
        no_more=tuple(sorted(removed)),
        values=tuple(filter(None, (_values_row(db, each) for each in observation.functions))),
    )


def _merge_calls(calls: Iterable[ObservedCall]) -> Iterable[ObservedCall]:
    """Merge the lines of calls that have the same caller and callee."""
    pairs: dict[tuple[str, str], ObservedCall] = {}
    for call in calls:
        other = pairs.get((call.caller, call.callee))
        if other is not None and other.anchor == call.anchor:
            lines = tuple(sorted({*other.above_end, *call.above_end}))
            call = msgspec.structs.replace(call, above_end=lines)  # noqa: PLW2901 - the merged row
        pairs[call.caller, call.callee] = call
    return pairs.values()


def _merged_row(db: sqlite3.Connection, call: ObservedCall) -> Row | None:
    """Return the row for a call with the stored lines merged in, or None if that changes
    nothing.
    """
    known: Row | None = db.execute(
        "SELECT * FROM observed_calls WHERE caller = ? AND callee = ?", (call.caller, call.callee)
    ).fetchone()
    lines = set(call.above_end)
    if known is not None and known[2] == call.anchor:
        lines.update(msgspec.json.decode(known[3], type=tuple[int, ...]))
    row = (call.caller, call.callee, call.anchor, msgspec.json.encode(sorted(lines)).decode())
    return None if row == known else row


def _values_row(db: sqlite3.Connection, seen: ObservedFunction) -> ValuesRow | None:
    """Return the row for a function with the stored values merged in, or None if that changes
    nothing.
    """
    known: ValuesRow | None = db.execute(
        "SELECT * FROM observed_values WHERE node = ?", (seen.node,)
    ).fetchone()
    values = seen.values
    if known is not None and known[1] == seen.anchor:
        values = merge_values(msgspec.json.decode(known[2], type=ObservedValues), values)
    row = (seen.node, seen.anchor, msgspec.json.encode(values).decode())
    return None if row == known else row


def delete_orphaned(db: sqlite3.Connection) -> None:
    """Delete observations of nodes that no longer exist and whose uids are not remembered."""
    for table, column in (
        ("observed_calls", "caller"),
        ("observed_calls", "callee"),
        ("observed_tests", "node"),
        ("observed_tests", "test"),
        ("observed_values", "node"),
    ):
        db.execute(
            f"DELETE FROM {table} WHERE {column} NOT IN (SELECT key FROM node_state) "  # noqa: S608
            f"AND {column} NOT IN (SELECT key FROM uids)"
        )
