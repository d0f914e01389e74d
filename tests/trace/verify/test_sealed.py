"""Compressed streams are verified like plain ones; damage to the compressed bytes is found."""

from pathlib import Path

import pytest

from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.trace.conftest import AGENT, RUN, play_run


@pytest.fixture
def sealed(folder: TraceFolder) -> list[Path]:
    """The compressed files of a run and its agent."""
    play_run(folder)
    plain = (folder.run_stream(RUN), folder.agent_stream(AGENT))
    for path in plain:
        compress_stream(path)
    assert not any(path.exists() for path in plain)
    return [folder.existing_run(RUN), folder.existing_agent(AGENT)]


def test_it_says_what_it_said_before(folder: TraceFolder) -> None:
    play_run(folder)
    before = verify_all(folder).as_json()
    for path in (folder.run_stream(RUN), folder.agent_stream(AGENT)):
        compress_stream(path)
    assert verify_all(folder).as_json() == before
    assert verify_all(folder, AGENT).as_json()["streams"] == before["streams"][1:]


@pytest.mark.slow
def test_no_byte_of_it_can_change_unseen(folder: TraceFolder, sealed: list[Path]) -> None:
    for path in sealed:
        content = path.read_bytes()
        for place in range(0, len(content), 7):
            path.write_bytes(
                content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]
            )
            assert not verify_all(folder).ok, f"byte {place} of {len(content)}"
        path.write_bytes(content)
    assert verify_all(folder).ok


def test_nor_be_cut_off(folder: TraceFolder, sealed: list[Path]) -> None:
    for path in sealed:
        content = path.read_bytes()
        for size in range(0, len(content), 41):
            path.write_bytes(content[:size])
            assert not verify_all(folder).ok, f"{size} of {len(content)} bytes"
        path.write_bytes(content)
