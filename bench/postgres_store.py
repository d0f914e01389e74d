"""PostgreSQL store: appended turns, size on disk and export, against JSON lines on the same disk."""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from postgres_appends import WRITERS, Measured, measure_appends
from recorded_events import Turn, built_lines, recorded_turns, turns_of_size

from remora.trace.postgres.copied_folder import CopiedTraceFolder
from remora.trace.postgres.database import Database
from remora.trace.postgres.schema import partition_name
from remora.trace.postgres.store import PostgresTraceStore
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.stream.trace_store import TraceStore
from tests.postgres_server import MISSING, PostgresServer, find_programs

TURN = 5
"""Events of a turn."""
SMALL, LARGE = (400, 620), (1500, 2600)
"""Least and most bytes of the lines that are 0.5 KB and 2 KB on average."""
SIZED, EXPORTED = 20_000_000, 100_000_000
"""Bytes of the streams whose size is measured, and of those that are exported."""
LONG, SHORT = 64, 1_600
"""Numbers of exported streams: long ones, and many short ones."""
ROUNDS = 5
AIMED = ("lines", "copied folder")
DURABLE = {"fsync": "on", "shared_buffers": "128MB"}
"""PostgreSQL's defaults, which the server of the tests changes."""


def main() -> dict[str, float]:
    """Return the figures that have an aim. Appends wait for the disk, and their arms alternate."""
    if find_programs() is None:
        print(f"left out: {MISSING}")
        return {}
    place = "/var/tmp" if os.access("/var/tmp", os.W_OK) else "/tmp"  # on disk, unlike some /tmp
    server = PostgresServer(DURABLE, parent=place).start()
    try:
        with tempfile.TemporaryDirectory(dir=place) as folder:
            return {
                **_appends(server.new_database("appends"), Path(folder)),
                **_sizes(server),
                **_export(server.new_database("long"), Path(folder), LONG),
                **_export(server.new_database("short"), Path(folder), SHORT),
            }
    finally:
        server.remove()


def _appends(dsn: str, folder: Path) -> dict[str, float]:
    results = measure_appends(dsn, folder, turns_of_size(recorded_turns(), *SMALL, TURN))
    for name, found in results.items():
        rate, p50 = _rates(found), statistics.median(each.p50_ms for each in found)
        print(f"append, {name:28} {statistics.median(rate):9,.0f} turns/s   p50 {p50:6.2f} ms")
    ours, one = results["PostgreSQL"], results["PostgreSQL, 1 writer"]
    aims: tuple[tuple[str, list[float], str, str], ...] = (
        ("append, over JSONL with sync", _over(ours, results["JSONL"]), "x", ">= 0.3"),
        ("append, over a transaction", _over(ours, results["transaction"]), "x", ">= 1.1"),
        ("append, over one with 1 INSERT", _over(ours, results["transaction, 1 INSERT"]), "x", ""),
        (f"append, p50 with {WRITERS} writers", [each.p50_ms for each in ours], "ms", "<= 5"),
        ("append, p50 with 1 writer", [each.p50_ms for each in one], "ms", "<= 5"),
    )
    return {name: _printed(name, found, unit, aim) for name, found, unit, aim in aims}


def _sizes(server: PostgresServer) -> dict[str, float]:
    """Measure one month of `events` with its index and TOAST table, after VACUUM and CHECKPOINT."""
    kinds: dict[str, tuple[Sequence[Turn], str]] = {
        "0.5 KB": (turns_of_size(recorded_turns(), *SMALL, TURN), "<= 1.2"),
        "2 KB": (turns_of_size(recorded_turns(), *LARGE, TURN), "<= 0.7"),
        "as recorded": (recorded_turns(), ""),
    }
    found = {}
    for number, (name, (turns, aim)) in enumerate(kinds.items()):
        dsn = server.new_database(f"size{number}")
        size, count = _fill(dsn, turns, WRITERS, SIZED)
        with psycopg.connect(dsn, autocommit=True) as connection:
            table = f"remora.{partition_name('events', _this_month())}"
            connection.execute(f"VACUUM {table}")
            connection.execute("CHECKPOINT")
            row = connection.execute("SELECT pg_total_relation_size(%s)", [table]).fetchone()
        label = f"size, lines of {name} ({size / count:,.0f} bytes)"
        found[f"size_{number}"] = _printed(label, [row[0] / size if row else 0.0], "x", aim)
    return found


def _export(dsn: str, folder: Path, streams: int) -> dict[str, float]:
    """Read all lines of many streams. The database's pages are in memory, as after writing them."""
    size, _ = _fill(dsn, recorded_turns(), streams, EXPORTED)
    rates: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        for name, read in _readers(dsn, folder / f"{streams}-{number}", streams).items():
            start = time.perf_counter()
            assert read() == size
            rates.setdefault(name, []).append(size / 1e6 / (time.perf_counter() - start))
    each = f"{streams} of {size / streams / 1e3:,.0f} KB"
    return {
        f"{name}_{streams}": _printed(
            f"export, {name}, {each}", found, "MB/s", ">= 100" if name in AIMED else ""
        )
        for name, found in rates.items()
    }


def _readers(dsn: str, root: Path, streams: int) -> dict[str, Callable[[], int]]:
    """Return functions that read all lines, and return their bytes with newlines."""
    database = Database(dsn)
    root.mkdir()
    copied = CopiedTraceFolder(root, root / "copy", database, "bench")
    copied.create()
    return {
        "lines": lambda: _read(PostgresTraceStore(database, "bench"), streams),
        "copied folder": lambda: sum(path.stat().st_size for path in copied.agent_streams()),
        "lines of JSONL": lambda: _read(JsonlTraceStore(copied.path), streams),
    }


def _fill(dsn: str, turns: Sequence[Turn], streams: int, size: int) -> tuple[int, int]:
    """Append at least `size` bytes to streams in turn. Return the number of bytes and of lines."""
    database = Database(dsn, is_durable=False)
    database.open()
    store = PostgresTraceStore(database, "bench")
    each = sum(event.size for turn in turns for event in turn) / len(turns)
    names = _names(streams)
    built = [built_lines(name, turns, round(size / each / streams)) for name in names]
    epochs = [store.claim(f"traces/{name}").epoch for name in names]
    seqs = [0] * streams
    for turn in zip(*built, strict=True):
        for number, lines in enumerate(turn):
            store.append(f"traces/{names[number]}", epochs[number], seqs[number], *lines)
            seqs[number] += len(lines)
    for name, epoch in zip(names, epochs, strict=True):
        store.release(f"traces/{name}", epoch)
    database.close()
    lines = [line for stream in built for turn in stream for line in turn]
    return sum(map(len, lines)), len(lines)


def _names(streams: int) -> list[str]:
    return [f"lint-{number:012x}" for number in range(streams)]


def _read(store: TraceStore, streams: int) -> int:
    return sum(len(line) + 1 for name in _names(streams) for line in store.lines(f"traces/{name}"))


def _rates(found: Iterable[Measured]) -> list[float]:
    return [each.rate for each in found]


def _over(ours: list[Measured], theirs: list[Measured]) -> list[float]:
    return [a / b for a, b in zip(_rates(ours), _rates(theirs), strict=True)]


def _printed(name: str, values: Sequence[float], unit: str, aim: str) -> float:
    """Print the median with the least and the greatest value, and return it."""
    median = statistics.median(values)
    told = f"{name:48} {median:8.2f} {unit:4} ({min(values):.2f} to {max(values):.2f})"
    print(f"{told}   (aim {aim})" if aim else told)
    return median


def _this_month() -> date:
    return datetime.now(UTC).date().replace(day=1)


if __name__ == "__main__":
    main()
