"""Tokens of a decision: as lines, as JSON, and as the raw history."""

import asyncio
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from remora.bootstrap.execute_plan import execute_plan
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import connect_model
from remora.bootstrap.prepare_run import prepare
from remora.memory.budget import trim
from remora.memory.events import AgentStart, Event, ModelRequest, payload
from remora.memory.projection import apply
from remora.memory.prompt.history import HISTORY, HISTORY_TYPES
from remora.memory.prompt.render import render
from remora.models.protocol import Model
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.planning.run_request import RunRequest
from remora.trace.read.reader import read_events
from remora.trace.stream.line_builder import utc_now
from remora.trace.trace_folder import TraceFolder

WISH = RunRequest(node="src/shop/catalog.py:*", unsafe_fixes=True)
SHOP = Path(__file__).parent.parent / "examples" / "shop"


class Silent:
    """An observer that does nothing."""

    def planned(self, run_id: str, plan: object) -> None:
        """Nothing."""

    def began(self, job: object) -> None:
        """Nothing."""

    def event(self, job: object, event: object) -> None:
        """Nothing."""

    def ended(self, job: object, result: object) -> None:
        """Nothing."""


def main() -> dict[str, float]:
    """Run the lint agent on one module with the embedded model, then counts its requests."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "shop"
        shutil.copytree(SHOP, root)
        caller = Invocation(environ=os.environ, folder=root, root=root)
        prepared = prepare(caller, WISH)
        try:
            counts = asyncio.run(
                _measured(prepared, connect_model(caller, prepared.project.config))
            )
        finally:
            prepared.close()
    lines, documents, histories = (
        statistics.median(column) for column in zip(*counts, strict=True)
    )
    print(
        f"{len(counts)} requests, median tokens            lines {lines:.0f}, json {documents:.0f}, raw history {histories:.0f}"
    )
    print(f"json / lines                         {documents / lines:6.2f} x")
    print(f"raw history / lines                  {histories / lines:6.2f} x")
    return {"json_over_lines": documents / lines, "history_over_lines": histories / lines}


async def _measured(prepared: PreparedRun, model: Model) -> list[tuple[int, int, int]]:
    try:
        await execute_plan(prepared, model, Silent(), utc_now)
        return list(_counts(prepared.project.trace, model))
    finally:
        await model.aclose()


def _counts(trace: TraceFolder, model: Model) -> Iterator[tuple[int, int, int]]:
    for path in trace.agent_streams():
        events = list(read_events(path))
        start = payload(events[0])
        assert isinstance(start, AgentStart)
        packet, history = start.packet, list[Event]()
        for event in events[1:]:
            request = payload(event)
            if isinstance(request, ModelRequest):
                shown = trim(packet, request.trim)
                strategy = str(request.decoding["strategy"])
                yield tuple(  # type: ignore[misc]
                    model.counter.count_messages(
                        render(name, shown, start.tools, strategy, history).messages or ()
                    )
                    for name in ("lines/1", "json/1", HISTORY)
                )
            packet = apply(packet, event.packet_delta)
            if event.type in HISTORY_TYPES:
                history.append(event)


if __name__ == "__main__":
    main()
