"""Processes that are killed or run out of disk while they write."""

import signal
import subprocess
import sys
from pathlib import Path

from remora.trace.read.reader import list_streams, read_events
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.trace.conftest import AGENT, agent_identity

WRITER = """
import resource, signal, sys
from pathlib import Path
from remora.errors import RemoraError
from remora.memory.events import ContextUpdate
from remora.trace.stream.line_builder import Identity
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.trace_folder import TraceFolder

root, limit, *words = sys.argv[1:]
folder = TraceFolder(Path(root))
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
identity = Identity(*words)
writer = JsonlEventEmitter.open(folder.agent_stream(identity.agent_id), identity, blobs=folder.blobs)
try:
    while True:
        event = writer.emit(ContextUpdate(source="hub", value="x" * 999), turn=1)
        writer.sync()
        print(event.seq, event.hash, flush=True)
except RemoraError as error:
    print(f"{type(error).__name__}: {error.message}", flush=True)
    writer.close()
"""


def start(folder: TraceFolder, limit: int = 0) -> "subprocess.Popen[str]":
    identity = agent_identity()
    words = [identity.run_id, identity.agent_id, identity.operation, identity.node_id]
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder.root), str(limit), *words],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_full_disk_leaves_the_stream_as_it_was(folder: TraceFolder) -> None:
    path = folder.agent_stream(AGENT)
    with start(folder, limit=10_000) as child:
        assert child.stdout is not None
        *told, failure = child.stdout.read().splitlines()
    assert failure.startswith("StreamWriteFailed: ")
    assert str(path) in failure
    assert len(told) == len(list(read_events(path))) == 10_000 // (path.stat().st_size // len(told))
    assert path.read_bytes().endswith(b"\n")
    with JsonlEventEmitter.open(path, agent_identity(), blobs=folder.blobs) as writer:
        assert writer.head.hash == told[-1].split()[1]


def test_a_stream_whose_writer_is_alive_may_end_in_half_a_line(folder: TraceFolder) -> None:
    with start(folder) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGSTOP)
        path: Path = folder.agent_stream(AGENT)
        with path.open("ab") as file:
            file.write(b'{"v":1,"seq":')
        running, (info,) = verify_all(folder), list_streams(folder)
        child.kill()
    killed = verify_all(folder)
    assert "torn_tail" not in [p.kind for p in running.streams[0].problems]
    assert "torn_tail" in [p.kind for p in killed.streams[0].problems]
    assert info.status == "running"
    assert list_streams(folder)[0].status == "interrupted"
