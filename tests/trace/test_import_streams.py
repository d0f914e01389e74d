"""Import of recorded streams into files and into a database: the same bytes, or a refusal."""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from remora.errors import NotFound
from remora.exports.export_counts import ExportCounts
from remora.exports.formats import ExportOptions, export_chunks
from remora.exports.run_bundles import all_bundles
from remora.trace.content import zstd_frames
from remora.trace.content.zstd_frames import compressed_frames
from remora.trace.import_streams import ImportCounts, ImportTarget, import_streams
from remora.trace.read.reader import read_lines
from remora.trace.stream.compression import compress_stream
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.stream.trace_store import TraceStore
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from remora.workspaces.rooted_files import FILE_LIMIT
from tests.memory_limit import memory_limit
from tests.odd_files import ODD
from tests.postgres_server import PostgresServer
from tests.trace.conftest import AGENT, RUN, Recorder, play_agent, play_run, rechained
from tests.trace.stream.store.conformance import chained


class Place(NamedTuple):
    """Where streams are imported to, and the folder in which they are read."""

    store: TraceStore
    folder: TraceFolder

    def add(self, *sources: Path) -> ImportCounts:
        target = ImportTarget(self.store, self.folder.blobs, self.folder.objects)
        return import_streams(sources, target)

    def lines(self, name: str) -> bytes:
        return b"".join(line + b"\n" for line in self.store.lines(name))

    def export(self, to: Path) -> bytes:
        options = ExportOptions(format="jsonl", version="1")
        groups = partial(all_bundles, self.folder)
        to.write_bytes(b"".join(export_chunks(self.folder, groups, options, ExportCounts())))
        return to.read_bytes()


def in_files(root: Path) -> Place:
    root.mkdir()
    folder = TraceFolder(root)
    folder.create()
    return Place(JsonlTraceStore(folder.path), folder)


@pytest.fixture(scope="module")
def databases(postgres: PostgresServer) -> Iterator[Callable[[Path], Place]]:
    """Opens a project of its own in a database that all tests here share."""
    from remora.trace.postgres.copied_folder import CopiedTraceFolder
    from remora.trace.postgres.database import Database
    from remora.trace.postgres.store import PostgresTraceStore

    database = Database(postgres.new_database(f"import_{secrets.token_hex(4)}"), patience_s=5)
    database.open()

    def open_project(copies: Path) -> Place:
        project = secrets.token_hex(4)
        folder = CopiedTraceFolder(copies.parent, copies, database, project)
        folder.create()
        return Place(PostgresTraceStore(database, project), folder)

    yield open_project
    database.close()


@pytest.fixture(params=["jsonl", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "jsonl":
        return in_files(tmp_path / "target")
    found: Place = request.getfixturevalue("databases")(tmp_path / "copies")
    return found


@pytest.fixture
def recorded(folder: TraceFolder) -> TraceFolder:
    """A run of one job, with blobs and objects."""
    play_run(folder)
    return folder


def recorded_lines(folder: TraceFolder, name: str) -> bytes:
    return b"".join(line + b"\n" for line in read_lines(folder.path / f"{name}.jsonl"))


class TestSameBytes:
    def test_a_folder_is_imported_byte_for_byte_with_its_contents(
        self, recorded: TraceFolder, place: Place
    ) -> None:
        done = place.add(recorded.path)
        assert (done.streams, done.unchanged, done.problems) == (2, 0, [])
        assert done.contents > 3
        for name in (f"traces/{AGENT}", f"runs/{RUN}"):
            assert place.lines(name) == recorded_lines(recorded, name)
        report = verify_all(place.folder)
        assert [stream.problems for stream in report.streams] == [(), ()]
        again = place.add(recorded.path)
        assert (again.streams, again.events, again.unchanged, again.problems) == (0, 0, 2, [])

    def test_export_import_and_export_give_the_same_file(
        self, recorded: TraceFolder, place: Place, tmp_path: Path
    ) -> None:
        source = Place(JsonlTraceStore(recorded.path), recorded)
        exported = source.export(tmp_path / "lines.txt")  # a file may have any name
        place.add(tmp_path / "lines.txt")
        assert place.export(tmp_path / "two.jsonl") == exported
        back = in_files(tmp_path / "back")
        back.add(tmp_path / "two.jsonl")
        assert back.export(tmp_path / "three.jsonl") == exported
        assert tree(back.folder) == tree(recorded)

    def test_a_compressed_stream_is_the_same_stream(
        self, recorded: TraceFolder, place: Place
    ) -> None:
        lines = recorded_lines(recorded, f"traces/{AGENT}")
        compress_stream(recorded.agent_stream(AGENT))
        assert not recorded.agent_stream(AGENT).exists()
        assert place.add(recorded.path).problems == []
        assert place.lines(f"traces/{AGENT}") == lines

    def test_a_long_stream_is_imported_in_parts(self, place: Place, tmp_path: Path) -> None:
        whole = b"".join(chained(1203))
        (tmp_path / "long.jsonl").write_bytes(whole)
        assert place.add(tmp_path / "long.jsonl").events == 1203
        assert place.lines(f"traces/{AGENT}") == whole

    def test_an_imported_stream_can_be_continued(self, folder: TraceFolder, place: Place) -> None:
        agent = play_agent(folder)
        agent.writer.close()
        place.add(folder.path)
        begun = place.lines(f"traces/{AGENT}")
        agent.reopen()
        agent.end()
        assert place.add(folder.path).streams == 1
        ended = place.lines(f"traces/{AGENT}")
        assert ended.startswith(begun)
        assert ended == recorded_lines(folder, f"traces/{AGENT}")


class TestInterruptedImports:
    @pytest.mark.parametrize("count", [1, 7])
    def test_what_is_missing_is_added(
        self, count: int, recorded: TraceFolder, place: Place
    ) -> None:
        name = f"traces/{AGENT}"
        lines = recorded_lines(recorded, name).splitlines(keepends=True)
        epoch = place.store.claim(name).epoch
        place.store.append(name, epoch, 0, *lines[:count])
        place.store.release(name, epoch)
        done = place.add(recorded.path)
        assert (done.streams, done.problems) == (2, [])
        assert place.lines(name) == b"".join(lines)

    def test_a_shorter_source_changes_nothing(
        self, recorded: TraceFolder, place: Place, tmp_path: Path
    ) -> None:
        place.add(recorded.path)
        lines = recorded_lines(recorded, f"traces/{AGENT}").splitlines(keepends=True)
        (tmp_path / "short.jsonl").write_bytes(b"".join(lines[:5]))
        done = place.add(tmp_path / "short.jsonl")
        assert (done.unchanged, done.problems) == (1, [])
        assert place.lines(f"traces/{AGENT}") == b"".join(lines)

    def test_a_stream_that_is_being_written_is_left_to_its_writer(
        self, recorded: TraceFolder, place: Place
    ) -> None:
        name = f"traces/{AGENT}"
        epoch = place.store.claim(name).epoch
        done = place.add(recorded.path)
        assert done.streams == 1
        assert len(done.problems) == 1
        place.store.release(name, epoch)
        assert place.add(recorded.path).streams == 1


class TestRefusals:
    def test_a_stream_that_differs_is_left_as_it_is(
        self, folder: TraceFolder, place: Place, tmp_path: Path
    ) -> None:
        other = in_files(tmp_path / "other")
        Recorder(other.folder).end()
        place.add(other.folder.path)
        before = place.lines(f"traces/{AGENT}")
        play_run(folder)
        done = place.add(folder.path)
        assert done.problems == [
            f"traces/{AGENT}: the stored stream has other lines than the imported one"
        ]
        assert done.streams == 1  # the run
        assert place.lines(f"traces/{AGENT}") == before

    @pytest.mark.parametrize("number", [0, 600, 1199])
    def test_nothing_of_a_damaged_stream_is_added(
        self, number: int, place: Place, tmp_path: Path
    ) -> None:
        lines = chained(1200)
        lines[number] = lines[number].replace(b"run-1", b"run-2", 1)
        (tmp_path / "bad.jsonl").write_bytes(b"".join(lines))
        done = place.add(tmp_path / "bad.jsonl")
        assert done.problems == [f"traces/{AGENT}: line {number + 1} does not match its hash"]
        with pytest.raises(NotFound):
            place.store.head(f"traces/{AGENT}")

    def test_a_line_that_is_no_event_or_missing_is_named(
        self, place: Place, tmp_path: Path
    ) -> None:
        lines = chained(5)
        (tmp_path / "bad.jsonl").write_bytes(b"".join([*lines[:2], b"{}\n", lines[2]]))
        (problem,) = place.add(tmp_path / "bad.jsonl").problems
        assert "bad.jsonl: line 3" in problem
        assert list(place.store.streams()) == []
        (tmp_path / "gap.jsonl").write_bytes(b"".join([*lines[:2], *lines[3:]]))
        assert place.add(tmp_path / "gap.jsonl").problems == [
            f"traces/{AGENT}: line 3 does not match its hash"
        ]

    def test_a_torn_last_line_is_left_out_and_reported(self, place: Place, tmp_path: Path) -> None:
        lines = chained(5)
        (tmp_path / "torn.jsonl").write_bytes(b"".join(lines)[:-20])
        done = place.add(tmp_path / "torn.jsonl")
        assert done.problems == ["torn.jsonl: the last line is incomplete and was left out"]
        assert place.lines(f"traces/{AGENT}") == b"".join(lines[:4])

    def test_a_small_file_that_becomes_very_large_is_refused(
        self, place: Place, tmp_path: Path
    ) -> None:
        (frame, *_) = compressed_frames([bytes(1 << 20)])
        count = 4097
        table = zstd_frames._ENTRY.pack(len(frame), 1 << 20) * count
        table += zstd_frames._FOOTER.pack(count, 0, zstd_frames._SEEKABLE)
        header = zstd_frames._HEADER.pack(zstd_frames._SKIPPABLE, len(table))
        (tmp_path / "x.jsonl.zst").write_bytes(frame * count + header + table)
        began = time.monotonic()
        (problem,) = place.add(tmp_path / "x.jsonl.zst").problems
        assert "has 4296015872 bytes when it is decompressed, but at most" in problem
        assert time.monotonic() - began < 1, "nothing was decompressed"

    def test_a_damaged_compressed_file_is_reported(self, place: Place, tmp_path: Path) -> None:
        whole = b"".join(compressed_frames([b"".join(chained(5))]))
        (tmp_path / "good.jsonl.zst").write_bytes(whole)
        (tmp_path / "bad.jsonl.zst").write_bytes(whole[:-5])
        assert len(place.add(tmp_path / "bad.jsonl.zst").problems) == 1
        assert place.add(tmp_path / "good.jsonl.zst").events == 5

    def test_the_other_streams_of_a_file_are_added(
        self, recorded: TraceFolder, place: Place, tmp_path: Path
    ) -> None:
        agent = recorded_lines(recorded, f"traces/{AGENT}").replace(b"F401", b"F402", 1)
        run = recorded_lines(recorded, f"runs/{RUN}")
        (tmp_path / "both.jsonl").write_bytes(agent + run)
        done = place.add(tmp_path / "both.jsonl")
        assert (done.streams, len(done.problems)) == (1, 1)
        assert place.lines(f"runs/{RUN}") == run

    def test_a_name_that_leads_elsewhere_is_refused(self, place: Place, tmp_path: Path) -> None:
        lines = [line[:-1].replace(AGENT.encode(), b"../../x") for line in chained(3)]
        (tmp_path / "bad.jsonl").write_bytes(rechained(lines))
        (problem,) = place.add(tmp_path / "bad.jsonl").problems
        assert "is not a valid" in problem

    def test_a_missing_source_is_an_error(self, place: Place, tmp_path: Path) -> None:
        with pytest.raises(NotFound, match="nowhere does not exist"):
            place.add(tmp_path / "nowhere")

    def test_an_empty_folder_and_an_empty_file_add_nothing(
        self, place: Place, tmp_path: Path
    ) -> None:
        (tmp_path / "empty").mkdir()
        (tmp_path / "empty.jsonl").touch()
        assert place.add(tmp_path / "empty", tmp_path / "empty.jsonl") == ImportCounts()

    def test_a_damaged_content_is_reported_by_its_name(
        self, recorded: TraceFolder, place: Place
    ) -> None:
        path = next(recorded.objects.folder.glob("??/*"))
        path.write_bytes(b"changed")
        (problem,) = place.add(recorded.path).problems
        assert path.name in problem

    def test_a_content_that_is_too_large_is_reported_unread(
        self, recorded: TraceFolder, place: Place
    ) -> None:
        path = recorded.objects.folder / "ab" / f"ab{'0' * 62}"
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.truncate(path, FILE_LIMIT + 1)
        with memory_limit():
            (problem,) = place.add(recorded.path).problems
        assert f"has {FILE_LIMIT + 1} bytes" in problem

    def test_objects_are_copied_in_pieces(self, recorded: TraceFolder, tmp_path: Path) -> None:
        large, wrong = bytes(64 << 20), "ab" + "0" * 62
        digest = recorded.objects.put(large)
        recorded.objects.put_pieces(wrong, (large,))
        del large
        place = in_files(tmp_path / "target")
        with memory_limit():
            (problem,) = place.add(recorded.path).problems
        assert "does not match its hash" in problem
        assert place.folder.objects.problem(digest) is None
        assert not list(place.folder.objects.folder.glob(f"ab/*{wrong[2:16]}*"))


def tree(folder: TraceFolder) -> dict[str, bytes]:
    return {
        path.relative_to(folder.path).as_posix(): path.read_bytes()
        for path in sorted(folder.path.glob("*/*.jsonl"))
    }


class TestOddFiles:
    @pytest.mark.parametrize("make", ODD)
    @pytest.mark.parametrize("name", ["traces/odd.jsonl", "runs/odd.jsonl", "traces/odd.jsonl.zst"])
    def test_what_is_not_a_file_of_the_folder_is_reported_and_the_rest_is_imported(
        self, recorded: TraceFolder, tmp_path: Path, name: str, make: Callable[[Path], None]
    ) -> None:
        make(recorded.path / name)
        done = in_files(tmp_path / "target").add(recorded.path)
        assert done.streams == 2
        assert len(done.problems) == 1
        assert "odd.jsonl" in done.problems[0]

    @pytest.mark.parametrize("make", ODD)
    @pytest.mark.parametrize(
        "name", [f"objects/ab/ab{'0' * 62}", f"blobs/ab/ab{'0' * 62}", "blobs/ab"]
    )
    def test_what_is_not_a_file_is_reported_among_the_contents_too(
        self, recorded: TraceFolder, tmp_path: Path, name: str, make: Callable[[Path], None]
    ) -> None:
        (recorded.path / name).parent.mkdir(parents=True, exist_ok=True)
        make(recorded.path / name)
        done = in_files(tmp_path / "target").add(recorded.path)
        (problem,) = done.problems
        assert name.rpartition("/")[2] in problem
        assert done.streams == 2

    @pytest.mark.parametrize("name", ["runs/odd.jsonl", "runs"])
    def test_a_link_out_of_the_folder_is_not_followed(
        self, recorded: TraceFolder, tmp_path: Path, name: str
    ) -> None:
        private = tmp_path / "private"
        recorded.runs.rename(private)
        if name != "runs":
            recorded.runs.mkdir()
        (recorded.path / name).symlink_to(private if name == "runs" else private / f"{RUN}.jsonl")
        done = in_files(tmp_path / "target").add(recorded.path)
        assert done.streams == 1
        assert "outside" in done.problems[0]

    @pytest.mark.parametrize("make", ODD)
    def test_a_named_file_is_not_waited_for(
        self, tmp_path: Path, make: Callable[[Path], None]
    ) -> None:
        make(tmp_path / "odd.jsonl")
        done = in_files(tmp_path / "target").add(tmp_path / "odd.jsonl")
        assert (done.streams, len(done.problems)) == (0, 1)
