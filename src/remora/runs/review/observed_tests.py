"""Calls observed in accepted tests, for the hub.

Only calls in code that has not changed are included.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import msgspec

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, Node
from remora.errors import RemoraError
from remora.hub.observed_links import Observation, ObservedCall, ObservedTest
from remora.ids import split_node_key, unescape_path
from remora.runs.project import Project
from remora.runs.records.job_view import JobView
from remora.workspaces.rooted_files import RootedFiles


class _Record(msgspec.Struct, frozen=True):
    """Observations from a `submit_result` event."""

    files: dict[str, str]
    tests: dict[str, list[str]]
    calls: list[tuple[str, str, int]]


class _Place(NamedTuple):
    """A node as it was when the tests ran.

    `anchor` is the hash that must still match for the observation to be valid.
    """

    node: Node
    anchor: str


def observed_runs(project: Project, jobs: Iterable[JobView]) -> Observation:
    """Return the calls that were observed in the jobs' tests.

    Tests that are no longer in the project are left out. In a changed file, only functions with an
    unchanged body are included, so a file may contain the tests of several jobs.
    """
    tests: list[ObservedTest] = []
    calls: dict[tuple[str, str], ObservedCall] = {}
    for job in jobs:
        for record in _records(job):
            files = _Files(project, record.files)
            tests += _tests(record, files)
            for call in _calls(record, files):
                known = calls.get((call.caller, call.callee), call)
                lines = tuple(sorted({*known.above_end, *call.above_end}))
                calls[call.caller, call.callee] = msgspec.structs.replace(call, above_end=lines)
    ran = tuple(sorted({test.id for test in tests}))
    return Observation(calls=tuple(calls.values()), tests=tuple(tests), ran=ran)


def _records(job: JobView) -> Iterator[_Record]:
    """Yield the observations of the last verified submission, if they are valid."""
    if job.observed:
        with suppress(msgspec.ValidationError):  # accepted changes do not depend on it
            yield msgspec.convert(job.observed, _Record)


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
    """Compares the current files with the files that the tests ran on."""

    def __init__(self, project: Project, hashes: dict[str, str]) -> None:
        self._project = project
        self._hashes = hashes
        self._known: dict[str, dict[str, _Place]] = {}

    def place(self, key: str) -> _Place | None:
        """Return the node as it was when the tests ran, or None if it has changed."""
        path = split_node_key(key)[0] if key.startswith("node:") else ""
        if path not in self._hashes:
            return None
        if path not in self._known:
            self._known[path] = dict(self._places(path))
        return self._known[path].get(key)

    def _places(self, path: str) -> Iterator[tuple[str, _Place]]:
        raw, sha256 = unescape_path(path), self._hashes[path]
        try:
            content = RootedFiles(self._project.root).read_bytes(raw)
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
