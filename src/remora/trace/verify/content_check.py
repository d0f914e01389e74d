"""Content check: blobs, objects and changes in a stream must exist and match their hashes."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from remora.errors import RemoraError
from remora.memory.canonical import canonical_sha256
from remora.memory.events import (
    AgentEnd,
    Change,
    ContextUpdate,
    Event,
    Payload,
    Review,
    RunStart,
    SubmitResult,
    ToolResulted,
)
from remora.trace.content.objects import ObjectStore
from remora.trace.read.blobs import blob_references, first_and_last_lines, may_contain_reference
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.verify_report import Problems


class ContentStores:
    """The blobs and objects in a trace folder. The result of each check is cached."""

    def __init__(self, folder: TraceFolder) -> None:
        self.folder = folder
        self._cache: dict[tuple[str, Any], str | None] = {}

    def blob_problem(self, reference: Any) -> str | None:
        """Return a description of what is wrong with a `$blob` value, or None if it is valid."""
        if not isinstance(reference, dict):
            return "a $blob reference is not an object"
        digest = reference.get("sha256")
        if (problem := self._problem("blob", self.folder.blobs, digest)) is not None:
            return problem
        text = self.folder.blobs.get(str(digest))
        first, last = first_and_last_lines(text.decode("utf-8", "replace"))
        described = (reference.get("bytes"), reference.get("first"), reference.get("last"))
        if described == (len(text), first, last):
            return None
        return f"blob {digest} does not match its reference"

    def object_problem(self, digest: Any) -> str | None:
        """Return a description of what is wrong with a stored object, or None if it is intact."""
        return self._problem("object", self.folder.objects, digest)

    def _problem(self, kind: str, store: ObjectStore, digest: Any) -> str | None:
        if not isinstance(digest, str):
            return f"a {kind}'s hash is not a string"
        if (kind, digest) not in self._cache:
            problem = store.problem(digest)
            self._cache[kind, digest] = problem and f"{kind} {digest[:80]} {problem}"
        return self._cache[kind, digest]


def check_references(
    line: int, event: Event, payload: Payload | None, stores: ContentStores, found: Problems
) -> None:
    """Check the blobs and objects that an event refers to, and the hashes of its changes.

    Never raises, even if the data is invalid.
    """
    details: list[str | None] = []
    try:
        details.append(_hash_problem(event, payload))
        if may_contain_reference(event.data):
            details += map(stores.blob_problem, blob_references(msgspec.json.decode(event.data)))
        details += map(stores.object_problem, _objects(payload))
    except (RemoraError, ValueError, RecursionError) as error:
        details.append(f"references cannot be read: {error}")
    for detail in dict.fromkeys(filter(None, details)):
        found.add(line, "blob", detail)


def _hash_problem(event: Event, payload: Payload | None) -> str | None:
    """Return in what way recorded changes differ from their hash, or None."""
    # hash the data as recorded: it covers keys of newer versions too
    if isinstance(payload, AgentEnd):
        recorded = msgspec.json.decode(event.data).get("change_set", [])
        digest = payload.change_set_sha256
        if (recorded or digest) and canonical_sha256(recorded) != digest:
            return "change_set_sha256 does not match the change set"
    elif isinstance(payload, Review) and payload.written is not None:
        recorded = msgspec.json.decode(event.data)["written"]["changes"]
        if canonical_sha256(recorded) != payload.written.sha256:
            return "the hash in `written` does not match its changes"
    return None


def _objects(payload: Payload | None) -> Iterator[Any]:
    yield from _scripts(payload)
    if isinstance(payload, ToolResulted | AgentEnd):
        changes = payload.changes if isinstance(payload, ToolResulted) else payload.change_set
        yield from changed_contents(changes)
    elif isinstance(payload, Review) and payload.written is not None:
        yield from changed_contents(payload.written.changes)
    elif isinstance(payload, RunStart):
        files = payload.base.get("files")
        for file in files.values() if isinstance(files, dict) else ():
            if file is not None:
                yield file.get("sha256") if isinstance(file, dict) else None


def _scripts(payload: Payload | None) -> Iterator[Any]:
    """Yield the hashes of the scripts that were run.

    Tool scripts are skipped, because they might not have been stored.
    """
    if isinstance(payload, ContextUpdate) and payload.output_sha256 is not None:
        yield payload.script_sha256
    elif isinstance(payload, ToolResulted) and payload.summarized is not None:
        yield payload.summarized.get("script_sha256")
    elif isinstance(payload, SubmitResult):
        for check in payload.checks:
            if isinstance(script := check.get("script"), dict):
                yield script.get("script_sha256")


def changed_contents(changes: Iterable[Change]) -> Iterator[str]:
    """Yield the hashes of the files before and after changes."""
    for change in changes:
        yield from (digest for digest in (change.before, change.after) if digest is not None)
