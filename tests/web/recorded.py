"""Streams that were changed after they were recorded, and clients of the page."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from remora.bootstrap.invocation import Invocation
from remora.memory.events import GENESIS
from remora.trace.content.line_format import line_hash, line_with_hash
from remora.web.application import create_app
from remora.web.session import Session
from tests.cli.conftest import Remora

Event = dict[str, Any]
PORT = 8787


def client_of(root: Path, home: Path, *, is_open: bool = True) -> TestClient:
    """Return a client of a project's pages, with the cookie that a link sets."""
    environ = Remora(home).environment
    session = Session(PORT)
    app = create_app(Invocation(environ=environ, folder=root), session, link_used=lambda: None)
    client = TestClient(app, base_url=f"http://127.0.0.1:{PORT}")
    if is_open:
        client.get(session.new_link())
    return client


def stream_of(root: Path, agent_id: str) -> Path:
    return root / ".agentfs/traces" / f"{agent_id}.jsonl"


def rewrite(path: Path, change: Callable[[Event], None]) -> None:
    """Change each event of a stream, and compute its hashes again."""
    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    for event in events:
        change(event)
    write_events(path, events)


def write_events(path: Path, events: list[Event]) -> None:
    """Write events with correct hashes and numbers."""
    previous, lines = GENESIS, []
    for number, event in enumerate(events):
        plain = {**{k: v for k, v in event.items() if k != "hash"}, "seq": number}
        body = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "surrogatepass"
        )[:-1]
        previous = line_hash(previous, body)
        lines.append(line_with_hash(body, previous))
    path.write_bytes(b"".join(lines))
