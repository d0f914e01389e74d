"""Events of a real run, and streams that are built from them."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from instant_model import instant_model
from lint import make_package

from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, Head, Payload, decode_event
from remora.trace.read.blobs import NullBlobSink
from remora.trace.read.reader import read_lines, typed_payload
from remora.trace.stream.line_builder import (
    Identity,
    build_line,
    head_after,
    line_template,
    utc_now,
)
from remora.trace.trace_folder import TraceFolder

_RUN, _NODE = "20260101-000000-abcdef", "node:shop/orders.py:total"
_REMORA = str(Path(sys.executable).with_name("remora"))


class RecordedEvent(NamedTuple):
    """What a line is built from. `size` is that of the line in the run."""

    turn: int
    payload: Payload
    delta: PacketDelta | None
    size: int


Turn = list[RecordedEvent]
"""Events that are appended together."""


@cache
def recorded_turns() -> tuple[Turn, ...]:
    """Return the turns of a run of `lint` and `docstring` with a model that answers at once."""
    with tempfile.TemporaryDirectory(prefix="remora-events-") as folder, instant_model() as model:
        package = Path(folder) / "package"
        make_package(package)
        environ = {**os.environ, "HOME": folder, "REMORA_MODEL__BASE_URL": model}
        for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            environ.pop(name, None)
        command = [_REMORA, "analyze", "-o", "lint", "-o", "docstring", "--yes", "--quiet"]
        subprocess.run(
            command, cwd=package, env=environ, check=False, stdout=subprocess.DEVNULL
        )  # its exit code is 1 if a job changes nothing
        paths = TraceFolder(package).agent_streams()
        return tuple(turn for path in paths for turn in turns_of_stream(path))


def turns_of_stream(path: Path) -> list[Turn]:
    """Return the events of each turn, without the agent's end, which would end the streams that
    are built.
    """
    found = []
    for line in read_lines(path):
        event = decode_event(line)
        payload = typed_payload(event)
        if payload is not None and not isinstance(payload, AgentEnd):
            found.append(RecordedEvent(event.turn, payload, event.packet_delta, len(line)))
    return [list(turn) for _, turn in groupby(found, key=lambda each: each.turn)]


def turns_of_size(turns: Iterable[Turn], least: int, most: int, count: int) -> list[Turn]:
    """Return turns of `count` events whose lines have between `least` and `most` bytes."""
    found = [each for turn in turns for each in turn if least <= each.size <= most]
    return [found[at : at + count] for at in range(0, len(found) - count + 1, count)]


def built_lines(agent_id: str, turns: Sequence[Turn], count: int) -> list[tuple[bytes, ...]]:
    """Return the lines of a new stream with `count` turns. They repeat in the given order."""
    template = line_template(Identity(_RUN, agent_id, "lint", _NODE), NullBlobSink(), clock=utc_now)
    head, built = Head(), []
    for number in range(count):
        lines = []
        for each in turns[number % len(turns)]:
            line, event = build_line(template, head, each.payload, turn=number, delta=each.delta)
            head = head_after(event)
            lines.append(line)
        built.append(tuple(lines))
    return built
