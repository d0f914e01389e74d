"""Content check: all blobs and objects that a stream refers to must exist and match
their hashes.
"""

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
from remora.trace.blobs import (
    blob_references,
    first_and_last_lines,
    may_contain_reference,
)
from remora.trace.content.objects import ObjectStore
from remora.trace.verify.verify_report import Problems


class ContentStores:
    """The blobs and objects in a trace folder. The result of each check is cached."""

    def __init__(self, blobs: ObjectStore, objects: ObjectStore) -> None:
        self.blobs = blobs
        self.objects = objects
        self._cache: dict[tuple[str, Any], str | None] = {}

    def blob_problem(self, reference: Any) -> str | None:
        """Return a description of what is wrong with a `$blob` value, or None if it is valid."""
        if not isinstance(reference, dict):
            return "a $blob reference is not an object"
        digest = reference.get("sha256")
        if (problem := self._problem("blob", self.blobs, digest)) is not None:
            return problem
        text = self.blobs.get(str(digest))
        first, last = first_and_last_lines(text.decode("utf-8", "replace"))
        described = (reference.get("bytes"), reference.get("first"), reference.get("last"))
        return (
            None
            if described == (len(text), first, last)
            else f"blob {digest} does not match its reference"
        )

    def object_problem(self, digest: Any) -> str | None:
        """Return a description of what is wrong with a stored object, or None if it is intact."""
        return self._problem("object", self.objects, digest)

    def _problem(self, kind: str, store: ObjectStore, digest: Any) -> str | None:
        if not isinstance(digest, str):
            return f"a {kind}'s hash is not a string"
        if (kind, digest) not in self._cache:
            problem = store.problem(digest)
            self._cache[kind, digest] = problem and f"{kind} {digest[:80]} {problem}"
        return self._cache[kind, digest]


class ReferenceCheck:
    """Checks the blobs and objects that events refer to."""

    def __init__(self, stores: ContentStores, found: Problems) -> None:
        self._stores = stores
        self._found = found

    def see(self, line: int, event: Event, payload: Payload | None) -> None:
        """Check all blobs and objects that an event refers to. Never raises, even if the data is
        invalid.
        """
        try:
            self._see(line, event, payload)
        except (RemoraError, ValueError, RecursionError) as error:
            self._found.add(line, "blob", f"references cannot be read: {error}")

    def _see(self, line: int, event: Event, payload: Payload | None) -> None:
        if isinstance(payload, AgentEnd):
            self._check_change_set(line, event, payload)
        elif isinstance(payload, Review) and payload.written is not None:
            recorded = msgspec.json.decode(event.data)["written"]["changes"]
            if canonical_sha256(recorded) != payload.written.sha256:
                self._found.add(line, "blob", "the hash in `written` does not match its changes")
        names = [self._stores.blob_problem(ref) for ref in _blobs(event)]
        names += [self._stores.object_problem(digest) for digest in _objects(payload)]
        for detail in dict.fromkeys(filter(None, names)):
            self._found.add(line, "blob", detail)

    def _check_change_set(self, line: int, event: Event, end: AgentEnd) -> None:
        # hash the data as recorded: it covers keys of newer versions too
        recorded = msgspec.json.decode(event.data).get("change_set", [])
        if not recorded and not end.change_set_sha256:
            return
        if canonical_sha256(recorded) != end.change_set_sha256:
            self._found.add(line, "blob", "change_set_sha256 does not match the change set")


def _blobs(event: Event) -> list[Any]:
    return (
        blob_references(msgspec.json.decode(event.data))
        if may_contain_reference(event.data)
        else []
    )


def _objects(payload: Payload | None) -> Iterable[Any]:
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


def changed_contents(changes: Iterable[Change]) -> Iterator[str]:
    """Yield the hashes of the files before and after changes."""
    for change in changes:
        yield from (digest for digest in (change.before, change.after) if digest is not None)


def _scripts(payload: Payload | None) -> Iterable[Any]:
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
