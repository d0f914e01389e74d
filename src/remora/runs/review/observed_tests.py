"""What accepted tests were seen to run, for the Hub, as far as the files still are what ran."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, Node
from remora.errors import RemoraError
from remora.hub.observed_links import Observation, ObservedCall, ObservedTest
from remora.ids import split_node_key, unspell_path
from remora.memory.events import SubmitResult
from remora.runs.project import Project
from remora.runs.records.job_view import JobView
from remora.trace.read.reader import read_events, typed_payload
from remora.workspaces.rooted_files import FILE_LIMIT, RootedFiles


class _Record(msgspec.Struct, frozen=True):
    """As `submit_result` has it."""

    files: dict[str, str]
    tests: dict[str, list[str]]
    calls: list[tuple[str, str, int]]


class _Place(NamedTuple):
    """A node as it ran, and what must stay as it is for that to hold."""

    node: Node
    anchor: str


def witnessed(project: Project, jobs: Iterable[JobView]) -> Observation:
    """Of the tests that these jobs wrote and that stand in the project now: what they ran.

    A file that is another one than ran is left out, but for a function in it whose body is the same:
    so several jobs' tests may stand in one file.
    """
    tests: list[ObservedTest] = []
    calls: dict[tuple[str, str], ObservedCall] = {}
    for job in jobs:
        for record in _records(project, job):
            files = _Files(project, record.files)
            tests += _tests(record, files)
            for call in _calls(record, files):
                known = calls.get((call.caller, call.callee), call)
                lines = tuple(sorted({*known.above_end, *call.above_end}))
                calls[call.caller, call.callee] = msgspec.structs.replace(call, above_end=lines)
    ran = tuple(sorted({test.id for test in tests}))
    return Observation(calls=tuple(calls.values()), tests=tuple(tests), ran=ran)


def _records(project: Project, job: JobView) -> Iterator[_Record]:
    """What was seen for the last verified submission."""
    found: SubmitResult | None = None
    try:
        for event in read_events(project.trace.existing_agent(job.agent_id)):
            data = typed_payload(event) if event.type == SubmitResult.type else None
            if isinstance(data, SubmitResult) and data.verified:
                found = data
        if found is not None and found.observed:
            yield msgspec.convert(found.observed, _Record)
    except (RemoraError, msgspec.ValidationError):
        return  # nothing that was accepted depends on it


def _tests(record: _Record, files: "_Files") -> Iterator[ObservedTest]:
    for name, keys in record.tests.items():
        own = files.place(keys[0]) if keys else None
        for key in keys[1:]:
            if own is not None and files.place(key) is not None:
                yield ObservedTest(node=key, id=name, test=keys[0], anchor=own.anchor)


def _calls(record: _Record, files: "_Files") -> Iterator[ObservedCall]:
    for caller, callee, line in record.calls:
        place = files.place(caller)
        if place is None or files.place(callee) is None or line > place.node.line_end:
            continue
        above = (place.node.line_end - line,)
        yield ObservedCall(caller=caller, callee=callee, anchor=place.anchor, above_end=above)


class _Files:
    """Files as they were when the tests ran, held against those of now."""

    def __init__(self, project: Project, hashes: dict[str, str]) -> None:
        self._project = project
        self._hashes = hashes
        self._known: dict[str, dict[str, _Place]] = {}

    def place(self, key: str) -> _Place | None:
        """None for a node that is not what ran."""
        path = split_node_key(key)[0] if key.startswith("node:") else ""
        if path not in self._hashes:
            return None
        if path not in self._known:
            self._known[path] = dict(self._places(path))
        return self._known[path].get(key)

    def _places(self, path: str) -> Iterator[tuple[str, _Place]]:
        raw, sha256 = unspell_path(path), self._hashes[path]
        try:
            content = RootedFiles(self._project.root).read_bytes(raw, limit=FILE_LIMIT)
            same = hashlib.sha256(content).hexdigest() == sha256
            then = content if same else self._project.trace.objects.get(sha256)
        except RemoraError:
            return
        ran, now = parse_module(raw, then), parse_module(raw, content)
        if not isinstance(ran, Module) or not isinstance(now, Module):
            return
        bodies = {node.key: node.body_hash for node in now.nodes}
        for node in ran.nodes:
            if node.node_type == "module":
                if same:
                    yield node.key, _Place(node, node.source_hash)
            elif bodies.get(node.key) == node.body_hash:
                yield node.key, _Place(node, node.body_hash)
