"""Reader that maps the records of a test run to the nodes of unchanged files.

The records come from a process that ran project code, and are not trusted. Invalid lines are
dropped. Records of files that have changed since the run are dropped, too.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from remora.code.file_facts import NodeFacts
from remora.hub.node import ObservedValues
from remora.hub.observed_links import (
    MAX_TYPES,
    Observation,
    ObservedCall,
    ObservedFunction,
    ObservedTest,
    anchor_of,
    merge_values,
)
from remora.hub.query.snapshots import Snapshot, StoredNode
from remora.ids import escape_path, node_key
from remora.workspaces.rooted_files import RootedFiles

_LIMIT = 1 << 28
"""The most bytes of all recordings of a run. The plugin writes up to 64 MiB in each process."""
_LINE_LIMIT = 1 << 20
_PATHS_LIMIT = 1 << 24
"""The most characters of all paths."""
_INNER = re.compile(r"(\.<locals>)?\.?<(lambda|\w+comp|genexpr)>$")
_Path = Annotated[str, Meta(max_length=4096)]  # PATH_MAX of Linux
_Name = Annotated[str, Meta(pattern=r"\A[^\W\d]\w*\Z", max_length=200)]
_Type = Annotated[str, Meta(pattern=r"\A[^\W\d][\w., |()\[\]]*\Z", max_length=300)]
_Types = Annotated[list[_Type], Meta(max_length=MAX_TYPES)]
_PARAMETERS = re.compile(r"\[.*\]\Z", re.DOTALL)


class _File(msgspec.Struct, frozen=True, array_like=True, tag="file"):
    number: int
    path: _Path
    sha256: str


class _Code(msgspec.Struct, frozen=True, array_like=True, tag="code"):
    number: int
    file: int
    line: int
    name: str
    qualname: str | None


class _Call(msgspec.Struct, frozen=True, array_like=True, tag="call"):
    caller: int
    line: int
    callee: int


class _Test(msgspec.Struct, frozen=True, array_like=True, tag="test"):
    path: _Path
    names: list[str]
    entered: list[int]
    done: bool


class _Seen(msgspec.Struct, frozen=True, array_like=True, tag="seen"):
    code: int
    parameters: Annotated[dict[_Name, _Types], Meta(max_length=100)]
    returns: _Types
    yields: _Types


_Record = _File | _Code | _Call | _Test | _Seen
_decoder: msgspec.json.Decoder[_Record] = msgspec.json.Decoder(_Record)


class ReadResult(NamedTuple):
    """Result of reading observations.

    `left_out` contains the raw paths of files that have changed since the run.
    """

    observation: Observation
    complete: bool
    left_out: tuple[str, ...]


def read_records(folder: Path, view: Snapshot) -> ReadResult:
    """Read all records of a run from `folder`."""
    functions: dict[str, ObservedFunction] = {}
    calls: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    tests: dict[tuple[str, str], ObservedTest] = {}
    ran: set[str] = set()
    stale: set[str] = set()
    complete = True
    for path, is_read in _limited(folder):
        process = _Process(view, path, is_read=is_read)
        complete = complete and process.complete
        stale |= process.stale
        for caller, line, callee in process.calls:
            calls[caller, callee].add(line)
        for found in process.tests():
            tests[found.id, found.node] = found
        ran |= process.ran()
        for seen in process.functions():
            functions[seen.node] = _merged(functions.get(seen.node), seen)
    observation = Observation(
        calls=tuple(_observed_call(view, pair, lines) for pair, lines in sorted(calls.items())),
        tests=tuple(tests[pair] for pair in sorted(tests)),
        ran=tuple(sorted(ran)),
        functions=tuple(functions[key] for key in sorted(functions)),
    )
    return ReadResult(observation, complete, tuple(sorted(stale)))


def _merged(known: ObservedFunction | None, seen: ObservedFunction) -> ObservedFunction:
    """Merge the values of several processes, or of several code objects of a function."""
    if known is None:
        return seen
    return msgspec.structs.replace(seen, values=merge_values(known.values, seen.values))


def recordings(folder: Path) -> list[Path]:
    """Return the paths of the record files, excluding symbolic links and pipes."""
    return [folder / name for name in RootedFiles(folder).glob("*.jsonl")]


def recorded_paths(folder: Path) -> frozenset[str]:
    """Return the raw paths in the records, relative to the root. The paths are untrusted."""
    found: set[str] = set()
    left = _PATHS_LIMIT
    for path in (path for path, is_read in _limited(folder) if is_read):
        for line in _lines(path):
            record = _decode_record(line) if line.startswith(b'["file"') else None
            if isinstance(record, _File) and record.path not in found:
                left -= len(record.path)
                if left < 0:
                    return frozenset(found)
                found.add(record.path)
    return frozenset(found)


def _limited(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the record files, and True for those that are within the limit of all together."""
    left = _LIMIT
    for path in recordings(folder):
        left -= path.stat().st_size
        yield path, left >= 0


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file. Parts of lines that are too long are no valid records."""
    with path.open("rb") as file:
        while line := file.readline(_LINE_LIMIT):
            yield line


def _decode_record(line: bytes) -> _Record | None:
    """Decode a record, or return None if it is invalid."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _observed_call(view: Snapshot, pair: tuple[str, str], lines: Iterable[int]) -> ObservedCall:
    caller, callee = pair
    facts = _facts(view, caller)
    last = facts.line_start + facts.line_count - 1
    return ObservedCall(
        caller=caller,
        callee=callee,
        anchor=anchor_of(facts),
        above_end=tuple(sorted(last - line for line in lines)),
    )


def _facts(view: Snapshot, key: str) -> NodeFacts:
    stored = view.node(key)
    assert stored is not None  # just found in the same view
    return stored.facts


class _Process:
    """Records of one process, with record numbers resolved to nodes."""

    def __init__(self, view: Snapshot, path: Path, *, is_read: bool) -> None:
        self._view = view
        self._nodes: dict[int, NodeFacts] = {}
        self._inner: set[int] = set()
        self.calls: set[tuple[str, int, str]] = set()
        """The caller, line and callee of each call."""
        self._seen: dict[int, _Seen] = {}
        self._tests: list[_Test] = []
        self._files: dict[int, tuple[StoredNode, ...]] = {}
        self.stale: set[str] = set()
        self.complete = is_read
        keep: Mapping[type, Callable[..., None]] = {
            _File: self._file,
            _Code: self._code,
            _Call: self._call,
            _Test: self._tests.append,
            _Seen: lambda record: self._seen.update({record.code: record}),
        }
        for record in self._records(path):
            keep[type(record)](record)

    def tests(self) -> Iterator[ObservedTest]:
        """Yield a record for each function entered by a completed test, except the test itself."""
        for test in self._tests:
            own = self._test_node(test)
            if own is None or not test.done:
                continue
            for node in filter(None, map(self._nodes.get, test.entered)):
                if node.node_type == "function" and node.key != own.key:
                    yield ObservedTest(
                        node=node.key, id=_id(test), test=own.key, anchor=anchor_of(own)
                    )

    def functions(self) -> Iterator[ObservedFunction]:
        """Yield the observed values of each function."""
        for number, seen in self._seen.items():
            node = self._nodes.get(number)
            if node is not None and node.node_type == "function" and number not in self._inner:
                values = ObservedValues(
                    parameters={name: tuple(types) for name, types in seen.parameters.items()},
                    returns=tuple(seen.returns),
                    yields=tuple(seen.yields),
                )
                yield ObservedFunction(node=node.key, anchor=anchor_of(node), values=values)

    def ran(self) -> set[str]:
        """Return the ids of completed tests that have a node."""
        return {_id(test) for test in self._tests if test.done and self._test_node(test)}

    def _test_node(self, test: _Test) -> NodeFacts | None:
        """Return the node of a test function, or None if there is no such node.

        The function may be inherited by the test's class.
        """
        name = _names(test)[-1] if test.names else ""
        direct = self._view.node(node_key(escape_path(test.path), ".".join(_names(test))))
        if direct is not None:
            return direct.facts
        entered = filter(None, map(self._nodes.get, test.entered))
        return next((node for node in entered if node.node_name == name), None)

    def _records(self, path: Path) -> Iterator[_Record]:
        if not self.complete:
            return
        for line in _lines(path):
            if line.startswith(b'["full"]') or (record := _decode_record(line)) is None:
                self.complete = False
            else:
                yield record

    def _file(self, record: _File) -> None:
        nodes = self._view.nodes(escape_path(record.path))
        if nodes and nodes[0].file_hash != record.sha256:
            self.stale.add(record.path)
        elif nodes:
            self._files[record.number] = nodes

    def _call(self, call: _Call) -> None:
        """Keep a call of recorded code. Entering a lambda or comprehension does not count."""
        caller, callee = self._nodes.get(call.caller), self._nodes.get(call.callee)
        if caller is None or callee is None or call.callee in self._inner:
            return
        inside = caller.line_start <= call.line < caller.line_start + caller.line_count
        if callee.node_type == "function" and inside:
            self.calls.add((caller.key, call.line, callee.key))

    def _code(self, record: _Code) -> None:
        if not (nodes := [stored.facts for stored in self._files.get(record.file, ())]):
            return
        if record.name == "<module>":
            self._nodes[record.number] = nodes[0]
            return
        inner = record.name.startswith("<")
        found = _enclosing_node(nodes, record) if inner else _node_defined_at(nodes, record)
        if found is not None:
            self._nodes[record.number] = found
            if inner:
                self._inner.add(record.number)


def _node_defined_at(nodes: Sequence[NodeFacts], code: _Code) -> NodeFacts | None:
    fits = (node for node in nodes if node.line_start == code.line)
    return next((node for node in fits if node.node_name == code.name), None)


def _enclosing_node(nodes: Sequence[NodeFacts], code: _Code) -> NodeFacts | None:
    """Return the node that contains a lambda or comprehension, or None if there is no such node.

    The node is looked up by the qualified name of the code object, or by line if the name is
    unknown.
    """
    holding = [n for n in nodes if n.line_start <= code.line < n.line_start + n.line_count]
    if code.qualname is None:
        return holding[-1] if holding else None
    name = code.qualname
    while _INNER.search(name):
        name = _INNER.sub("", name)
    if not (plain := name.replace(".<locals>", "")):
        return nodes[0]
    fits = (node for node in reversed(holding) if re.sub(r"#\d+", "", node.qualname) == plain)
    return next(fits, None)


def _names(test: _Test) -> list[str]:
    """Return the parts of the test id after the path, without parameters."""
    return [*test.names[:-1], _PARAMETERS.sub("", test.names[-1])] if test.names else []


def _id(test: _Test) -> str:
    return "::".join([test.path, *_names(test)])
