"""Writer of a stream in a file, for tests that need no project."""

from pathlib import Path

from remora.trace.content.objects import ObjectStore
from remora.trace.stream.jsonl_emitter import EmitterOptions, JsonlEventEmitter
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.stream.line_builder import Clock, Durability, Identity, utc_now


def open_emitter(
    path: Path,
    identity: Identity,
    *,
    blobs: ObjectStore,
    objects: ObjectStore | None = None,
    durability: Durability = "turn",
    clock: Clock = utc_now,
) -> JsonlEventEmitter:
    """Claim the stream in the file at `path`. Its folder must exist."""
    options = EmitterOptions(blobs=blobs, objects=objects, durability=durability, clock=clock)
    store = JsonlTraceStore(path.parent)
    emitter = JsonlEventEmitter.claim(store, path.name.removesuffix(".jsonl"), identity, options)
    emitter.path = path.absolute()
    return emitter
