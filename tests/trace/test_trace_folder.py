"""`.agentfs/`: private, outside git; long strings move to its store; writers that are killed."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import DecodeError, Raw, structs

from remora.errors import DiskError, NotFound, StreamDamaged, StreamError, UsageError
from remora.memory.events import Change, ToolResulted, payload
from remora.trace.read import blobs as module
from remora.trace.read.blobs import (
    BLOB_LIMIT,
    LINE_LIMIT,
    blob_references,
    externalise,
    payload_without_values,
    read_text_lines,
    resolve,
    resolved_data,
    whole_payload,
)
from remora.trace.read.reader import list_streams, read_events
from remora.trace.stream_lock import is_locked
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.odd_files import ODD
from tests.stream_writer import open_emitter
from tests.trace.conftest import AGENT, Recorder, agent_identity, play_run

PARTS = ["traces", "runs", "blobs", "objects"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_everything_is_private_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        folder = TraceFolder(tmp_path)
        folder.create()
        play_run(folder)
    finally:
        os.umask(before)
    found = [folder.path, *folder.path.rglob("*")]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()}
    assert modes == {0o700}
    files = {path: stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()}
    assert set(files.values()) == {0o600}
    assert {path.parent.name for path in files} >= {"traces", "runs", ".agentfs"}


def test_a_folder_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    (tmp_path / ".agentfs" / "traces").mkdir(parents=True)
    (tmp_path / ".agentfs").chmod(0o755)
    folder = TraceFolder(tmp_path)
    folder.create()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.traces.stat().st_mode) == 0o700


def test_git_sees_nothing_of_it(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    folder = TraceFolder(tmp_path)
    folder.create()
    folder.create()
    status = subprocess.run(
        ["git", "-C", tmp_path, "status", "--porcelain"], check=True, capture_output=True
    )
    assert status.stdout == b""


@pytest.mark.parametrize("theirs", ["", "*.db\n", "!*\n", "*\n!*/\n", "*\n!.gitignore\n", "folder"])
def test_an_ignore_file_of_another_tool_is_kept_and_git_sees_nothing_of_ours(
    theirs: str, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    place = tmp_path / ".agentfs" / ".gitignore"
    (place if theirs == "folder" else place.parent).mkdir(parents=True)
    if theirs != "folder":
        place.write_text(theirs)
    folder = TraceFolder(tmp_path)
    folder.create()
    play_run(folder)
    folder.create()
    words = ("ls-files", "--others", "--exclude-standard")
    seen = subprocess.run(["git", "-C", tmp_path, *words], check=True, capture_output=True).stdout
    assert set(seen.decode().split()) <= {".agentfs/.gitignore"}
    assert list(folder.agent_streams())
    assert theirs == "folder" or place.read_text() == theirs


@pytest.mark.parametrize("part", ["", *PARTS])
def test_a_link_in_its_place_is_refused_and_nothing_is_written_behind_it(
    part: str, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    root = tmp_path / "root"
    (root / ".agentfs" if part else root).mkdir(parents=True)
    (root / ".agentfs" / part).symlink_to(elsewhere)
    folder = TraceFolder(root)
    with pytest.raises(DiskError, match="link"):
        folder.create()
    with pytest.raises(DiskError, match="link"):
        folder.check()
    assert list(elsewhere.iterdir()) == []


def test_a_missing_root_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="nowhere"):
        TraceFolder(tmp_path / "nowhere").create()


@pytest.mark.parametrize("name", ["", "../x", "A", ".x", "a/b", "x" * 65, "ü"])
def test_only_ids_name_streams(name: str, folder: TraceFolder) -> None:
    with pytest.raises(UsageError):
        folder.agent_stream(name)
    with pytest.raises(UsageError):
        folder.run_stream(name)
    with pytest.raises(NotFound):
        folder.existing_agent(name)


def test_an_unknown_agent_is_answered_with_the_nearest(folder: TraceFolder) -> None:
    play_run(folder)
    with pytest.raises(NotFound) as error:
        folder.existing_agent("lint-df01")
    assert "(did you mean 'lint-df01fe3c9d2d'?)" in error.value.message
    with pytest.raises(NotFound):
        folder.existing_run("lint-df01fe3c9d2d")
    assert folder.existing_run("run-1") == folder.run_stream("run-1")


@pytest.mark.parametrize("make", ODD)
def test_a_lease_that_is_no_file_is_none(tmp_path: Path, make: Callable[[Path], None]) -> None:
    folder = TraceFolder(tmp_path)
    folder.create()
    play_run(folder)
    (stream,) = folder.run_streams()
    make(stream.with_name(f".{stream.name}.lease"))
    assert not is_locked(stream)


KEYS = st.sampled_from(["$blob", "$$blob", "$$$blob", "sha256", "a"])
LEAVES = st.none() | st.integers() | st.text(max_size=5) | st.just("x" * (BLOB_LIMIT + 1))
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=2)
)


@given(data=JSON)
def test_resolving_undoes_it_for_any_data_even_such_that_looks_like_a_reference(
    data: Any, folder: TraceFolder
) -> None:
    assert resolve(externalise(data, folder.blobs), folder.blobs) == data


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("x" * 65_536, False),
        ("x" * 65_537, True),
        ("é" * 32_768, False),
        ("é" * 32_769, True),
        ("𝄞" * 16_384, False),
        ("𝄞" * 16_385, True),
    ],
)
def test_over_64_kib_of_utf8_is_long(text: str, moved: bool, folder: TraceFolder) -> None:
    assert (externalise(text, folder.blobs) != text) is moved


def test_a_reference_tells_hash_length_and_both_ends(folder: TraceFolder) -> None:
    lines = [f"line {n} " + "ü" * 500 for n in range(200)]
    text = "\n".join(lines) + "\n"
    encoded = text.encode()
    assert externalise({"log": [text]}, folder.blobs) == {
        "log": [
            {
                "$blob": {
                    "sha256": sha256(encoded).hexdigest(),
                    "bytes": len(encoded),
                    "first": [line[:200] for line in lines[:10]],
                    "last": [line[:200] for line in lines[-10:]],
                }
            }
        ]
    }


def test_references_are_found_at_any_depth(folder: TraceFolder) -> None:
    data = externalise({"a": ["x" * 70_000, {"$blob": "mine"}], "b": "y" * 70_000}, folder.blobs)
    assert [len(found["first"][0]) for found in blob_references(data)] == [200, 200]


@pytest.mark.parametrize(
    ("value", "error"),
    [("no", StreamDamaged), ({"sha256": "../x"}, StreamDamaged), ({"sha256": "0" * 64}, NotFound)],
)
def test_a_reference_to_nothing_is_an_error(
    value: Any, error: type[Exception], folder: TraceFolder
) -> None:
    with pytest.raises(error):
        resolve({"$blob": value}, folder.blobs)


def test_a_typed_payload_has_its_long_strings_back(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    written = ToolResulted(tool="t", raw_output={"out": "o" * 70_000}, error="e" * 70_000)
    event = agent.emit(written)
    assert whole_payload(event, ToolResulted, folder.blobs) == written
    assert len(bytes(event.data)) < 10_000
    with pytest.raises(ValueError, match="error"):
        payload(event)


def test_what_is_not_what_its_type_holds_is_damage(folder: TraceFolder) -> None:
    event = Recorder(folder).emit(ToolResulted(tool="t", raw_output="x" * (BLOB_LIMIT + 1)))
    assert resolved_data(event, folder.blobs)["raw_output"] == "x" * (BLOB_LIMIT + 1)
    for bad in (b'{"raw_output":1}', b'{"tool":7}', b"[]"):
        other = structs.replace(event, data=Raw(bad))
        with pytest.raises(StreamDamaged, match="event 1 is not a valid tool_result"):
            whole_payload(other, ToolResulted, folder.blobs)


def test_of_a_very_long_event_only_what_has_a_type_is_decoded(
    folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Recorder(folder)
    change = Change(path="a", before=None, after=None, mode=0o644)
    written = ToolResulted(
        tool="t", raw_output=["x"] * 9, host_calls=[1] * 9, changes=(change,), error="e" * 70_000
    )
    event = agent.emit(written)
    light = structs.replace(written, raw_output=None, host_calls=[])
    assert payload_without_values(event, folder.blobs) == light, "one with blobs may be of any size"
    small = structs.replace(written, error="e")
    event = agent.emit(small)
    assert payload_without_values(event, folder.blobs) == small
    monkeypatch.setattr(module, "MAX_LIGHT_DATA", 10)
    assert payload_without_values(event, folder.blobs) == structs.replace(light, error="e")
    for bad in (b'{"tool":"t","host_calls":{}}', b'{"raw_output":[1,]}', b"[]", b'{"changes":1}'):
        with pytest.raises(DecodeError):
            payload_without_values(structs.replace(event, data=Raw(bad)), folder.blobs)


def test_one_blob_that_is_named_in_many_places_is_not_put_together(
    folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "x" * 100_000
    event = Recorder(folder).emit(ToolResulted(tool="t", raw_output=[text] * 9))
    assert whole_payload(event, ToolResulted, folder.blobs) == ToolResulted(
        tool="t", raw_output=[text] * 9
    )
    monkeypatch.setattr(module, "MAX_RESOLVED", 8 * len(text))
    with pytest.raises(StreamError, match="exceed"):
        whole_payload(event, ToolResulted, folder.blobs)
    with pytest.raises(StreamError, match="exceed"):
        resolved_data(event, folder.blobs)
    assert payload_without_values(event, folder.blobs) == ToolResulted(tool="t")


def stored(folder: TraceFolder, digest: str) -> Path:
    return folder.blobs.folder / digest[:2] / digest


class TestOnDisk:
    def test_a_blob_is_compressed_and_named_by_what_it_was_before(
        self, folder: TraceFolder
    ) -> None:
        text = "".join(f"tests/test_{n}.py PASSED\n" for n in range(5_000)).encode()
        path = stored(folder, folder.blobs.put(text))
        assert path.name == sha256(text).hexdigest()
        assert path.stat().st_size < len(text) / 5
        inode = path.stat().st_ino
        folder.blobs.put(text)
        assert path.stat().st_ino == inode, "what is there is not written again"
        assert folder.blobs.get(path.name) == text

    def test_an_object_is_never_unpacked(self, folder: TraceFolder) -> None:
        packed = stored(folder, folder.blobs.put(b"x" * 70_000)).read_bytes()
        assert folder.objects.get(folder.objects.put(packed)) == packed


class TestLines:
    @given(
        text=st.text("ab\n\r\u2028é", max_size=80), first=st.integers(1, 9), more=st.integers(0, 9)
    )
    def test_lines_are_what_newlines_alone_split(
        self, text: str, first: int, more: int, folder: TraceFolder
    ) -> None:
        digest = folder.blobs.put(text.encode())
        split = text.split("\n")
        found = read_text_lines(folder.blobs, digest, first, first + more)
        assert found == (split[first - 1 : first + more], len(split))

    def test_a_range_in_the_midst_of_many(self, folder: TraceFolder) -> None:
        text = "\n".join(f"line {n} " + "é" * (n % 90) for n in range(1, 60_001))
        digest = folder.blobs.put(text.encode())
        assert len(text) > 3 << 20
        found, total = read_text_lines(folder.blobs, digest, 31_000, 31_059)
        assert (found, total) == (text.split("\n")[30_999:31_059], 60_000)

    def test_of_a_very_long_line_the_beginning(self, folder: TraceFolder) -> None:
        digest = folder.blobs.put(("𝄞" * 3_000_000 + "\nshort").encode())
        assert read_text_lines(folder.blobs, digest, 1, 2) == (["𝄞" * LINE_LIMIT, "short"], 2)

    def test_a_missing_blob(self, folder: TraceFolder) -> None:
        with pytest.raises(NotFound):
            read_text_lines(folder.blobs, "0" * 64, 1, 1)


WRITER = """
import resource, signal, sys
from pathlib import Path
from remora.errors import RemoraError
from remora.memory.events import ContextUpdate
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.stream_writer import open_emitter

root, limit, *words = sys.argv[1:]
folder = TraceFolder(Path(root))
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
identity = Identity(*words)
writer = open_emitter(folder.agent_stream(identity.agent_id), identity, blobs=folder.blobs)
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
    with open_emitter(path, agent_identity(), blobs=folder.blobs) as writer:
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
