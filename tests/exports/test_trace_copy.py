"""A folder of streams with their contents: where it may be, and what is reported."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.errors import NotFound, UsageError
from remora.exports.run_bundles import RunBundle, all_bundles, bundle_of_run
from remora.exports.trace_copy import export_folder
from remora.trace.content.objects import ObjectStore
from remora.trace.import_streams import ImportCounts
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.memory_limit import memory_limit
from tests.trace.conftest import AGENT, RUN, Recorder, RunRecorder, play_agent, play_run

WRITTEN = f"run {RUN} was written to during the export; repeat it when the run has ended"


def exported(folder: TraceFolder, path: Path) -> ImportCounts:
    return export_folder(folder, lambda: all_bundles(folder), path)


def is_valid(path: Path) -> bool:
    return verify_all(TraceFolder(path.parent, path)).ok


class TestFolder:
    def test_other_files_are_left_alone(self, folder: TraceFolder, tmp_path: Path) -> None:
        play_run(folder)
        docs = tmp_path / "docs"
        docs.mkdir(mode=0o755)
        for name in ("runs", "traces"):  # of another program
            (docs / name).mkdir()
        (docs / "index.md").write_text("# Home\n")
        mode = docs.stat().st_mode
        with pytest.raises(UsageError, match="contains other files"):
            exported(folder, docs)
        assert {path.name for path in docs.iterdir()} == {"runs", "traces", "index.md"}
        assert docs.stat().st_mode == mode

    def test_an_interrupted_export_is_continued(self, folder: TraceFolder, tmp_path: Path) -> None:
        play_run(folder)
        (tmp_path / "history" / "traces").mkdir(parents=True)
        assert exported(folder, tmp_path / "history").problems == []
        assert is_valid(tmp_path / "history")

    def test_a_file_is_not_a_folder(self, folder: TraceFolder, tmp_path: Path) -> None:
        (tmp_path / "notes").write_text("")
        with pytest.raises(UsageError, match="notes is not a folder"):
            exported(folder, tmp_path / "notes")

    def test_the_streams_are_not_exported_onto_themselves(self, folder: TraceFolder) -> None:
        with pytest.raises(UsageError, match="contains the streams to export"):
            exported(folder, folder.path / "traces" / "..")

    def test_the_current_folder_is_filled_if_it_is_empty(
        self, folder: TraceFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        play_run(folder)
        (tmp_path / "history").mkdir()
        monkeypatch.chdir(tmp_path / "history")
        for _ in range(2):
            assert exported(folder, Path()).problems == []
        assert is_valid(tmp_path / "history")


class TestContents:
    @pytest.mark.parametrize("name", ["blobs", "objects"])
    def test_a_missing_content_is_a_problem(
        self, folder: TraceFolder, tmp_path: Path, name: str
    ) -> None:
        play_run(folder)
        lost = next((folder.path / name).glob("*/*"))
        lost.unlink()
        problems = exported(folder, tmp_path / "history").problems
        assert problems
        assert {each.partition(": ")[2] for each in problems} == {
            f"{name[:-1]} {lost.name} is missing"
        }

    def test_a_content_that_is_removed_during_the_export_is_a_problem(
        self, folder: TraceFolder, tmp_path: Path
    ) -> None:
        class Cleaned(ObjectStore):
            def pieces(self, digest: str) -> Iterator[bytes]:
                raise NotFound(f"{digest} is missing")

        play_run(folder)
        folder.blobs = Cleaned(folder.blobs.folder, packs=True)
        (problem,) = exported(folder, tmp_path / "history").problems
        assert problem.startswith(f"{AGENT}: blob ")

    def test_objects_are_copied_in_pieces(self, folder: TraceFolder, tmp_path: Path) -> None:
        play_run(folder)
        (lost, *_) = folder.objects.folder.glob("*/*")
        os.truncate(lost, 64 << 20)
        with memory_limit():
            problems = exported(folder, tmp_path / "history").problems
        assert any(f"{lost} does not match its hash" in each for each in problems)
        assert not (tmp_path / "history/objects" / lost.parent.name / lost.name).exists()

    def test_only_added_contents_are_counted(self, folder: TraceFolder, tmp_path: Path) -> None:
        play_run(folder)
        assert exported(folder, tmp_path / "history").contents > 1
        lost = next((tmp_path / "history" / "objects").glob("*/*"))
        lost.unlink()
        assert exported(folder, tmp_path / "history").contents == 1
        assert lost.exists()

    def test_a_damaged_compressed_stream_is_a_problem(
        self, folder: TraceFolder, tmp_path: Path
    ) -> None:
        play_run(folder)
        compress_stream(folder.agent_stream(AGENT))
        sealed = folder.existing_agent(AGENT)
        data = bytearray(sealed.read_bytes())
        data[len(data) // 3] ^= 1
        sealed.write_bytes(data)
        assert exported(folder, tmp_path / "history").problems

    def test_a_run_that_is_damaged_during_the_export_is_a_problem(
        self, folder: TraceFolder, tmp_path: Path
    ) -> None:
        play_run(folder)

        def bundles() -> Iterator[RunBundle]:
            found = bundle_of_run(folder, RUN)
            with folder.run_stream(RUN).open("ab") as stream:
                stream.write(b"not an event\n")
            yield found

        (problem,) = export_folder(folder, bundles, tmp_path / "history").problems
        assert "is not an event" in problem


class TestRunningRun:
    def test_a_run_that_is_being_written_is_a_problem(
        self, folder: TraceFolder, tmp_path: Path
    ) -> None:
        run = RunRecorder(folder)
        run.job_start()
        agent = play_agent(folder)
        assert exported(folder, tmp_path / "history").problems == [WRITTEN]
        run.job_end(agent.end())
        run.end()
        assert exported(folder, tmp_path / "history").problems == []
        assert is_valid(tmp_path / "history")

    def test_a_run_that_ends_during_the_export_is_a_problem(
        self, folder: TraceFolder, tmp_path: Path
    ) -> None:
        run = RunRecorder(folder)

        def bundles() -> Iterator[RunBundle]:
            found = bundle_of_run(folder, RUN)
            run.job_start()
            run.job_end(play_agent(folder).end())
            run.end()
            yield found

        assert export_folder(folder, bundles, tmp_path / "history").problems == [WRITTEN]
        assert not is_valid(tmp_path / "history")

    def test_a_run_that_begins_during_the_export_is_a_problem(
        self, folder: TraceFolder, tmp_path: Path
    ) -> None:
        Recorder(folder).end()

        def bundles() -> Iterator[RunBundle]:
            for found in all_bundles(folder):
                assert isinstance(found, RunBundle)
                run = RunRecorder(folder)
                run.job_start()
                run.end()
                yield found

        assert export_folder(folder, bundles, tmp_path / "history").problems == [WRITTEN]

    def test_an_agent_that_its_run_does_not_name_is_no_problem(
        self, folder: TraceFolder, tmp_path: Path
    ) -> None:
        play_agent(folder).end()  # a fork that was killed before its job began
        RunRecorder(folder).end()
        assert exported(folder, tmp_path / "history").problems == []
