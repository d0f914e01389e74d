"""With what docs/reference/long-track.md shows, and nothing else, a reader verifies and reads streams."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from remora.memory.canonical import TOO_DEEP
from remora.memory.decode_values import decode_value
from remora.memory.delta import PacketDelta
from remora.memory.events import PAYLOADS, ContextUpdate
from remora.memory.packet import DecisionPacket
from remora.trace.read.reader import event_data, read_events
from remora.trace.trace_folder import TraceFolder
from tests.golden.test_golden import HERE, laid_out
from tests.trace.conftest import AGENT, RUN, Recorder, play_run, rechained

PAGE = (Path(__file__).parent.parent.parent / "docs/reference/long-track.md").read_text(
    encoding="utf-8"
)
VERIFIER, READER = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def verifier(tmp_path: Path) -> Callable[[TraceFolder], str]:
    """Runs the page's first block as a program; gives the last line that it says."""
    program = tmp_path / "verifier.py"
    program.write_text(VERIFIER)

    def run(folder: TraceFolder) -> str:
        words = [sys.executable, "-I", "-S", str(program), str(folder.root)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        said = (done.stdout + done.stderr).splitlines()
        assert (done.returncode == 0) is (said == [])
        return said[-1] if said else ""

    return run


def defined(block: str, root: Path) -> dict[str, Any]:
    """What a block defines."""
    names: dict[str, Any] = {}
    arguments, sys.argv = sys.argv, ["verifier", str(root)]
    try:
        exec(compile(block, "docs/reference/long-track.md", "exec"), names)
    finally:
        sys.argv = arguments
    return names


@pytest.fixture
def folder(tmp_path: Path) -> TraceFolder:
    """A whole run of one agent."""
    made = TraceFolder(tmp_path / "project")
    made.root.mkdir()
    made.create()
    play_run(made)
    return made


def test_the_verifier_is_20_lines_of_the_standard_library() -> None:
    assert len(VERIFIER.splitlines()) <= 20
    imports = [node for node in ast.walk(ast.parse(VERIFIER)) if isinstance(node, ast.Import)]
    names = {alias.name for node in imports for alias in node.names}
    assert names <= sys.stdlib_module_names
    assert "ImportFrom" not in ast.dump(ast.parse(VERIFIER))


def test_right_streams_pass(folder: TraceFolder, verifier: Callable[[TraceFolder], str]) -> None:
    assert verifier(folder) == ""


@pytest.mark.parametrize("version", sorted(HERE.glob("v*")), ids=lambda path: str(path.name))
def test_old_streams_pass(
    version: Path, tmp_path: Path, verifier: Callable[[TraceFolder], str]
) -> None:
    streams = [version / "run.jsonl", *version.glob("lint-*.jsonl")]
    assert verifier(laid_out(streams, tmp_path)) == ""


def test_compressed_streams_are_not_skipped(
    folder: TraceFolder, verifier: Callable[[TraceFolder], str]
) -> None:
    plain = [folder.agent_stream(AGENT), folder.run_stream(RUN)]
    contents = [path.read_bytes() for path in plain]
    for path in plain:
        path.with_name(path.name + ".zst").write_bytes(zstandard.compress(path.read_bytes()))
        path.unlink()
    assert "unpack these first, in a copy: [" in verifier(folder)
    plain[0].write_bytes(contents[0])
    assert f"'{plain[1].name}.zst']" in verifier(folder)
    plain[1].write_bytes(contents[1])  # both are there now, as `zstd -d` leaves them
    assert verifier(folder) == ""


def dropped(lines: list[bytes]) -> list[bytes]:
    return lines[:2] + lines[3:]


def reordered(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[2], lines[1], *lines[3:]]


def doubled(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], *lines[1:]]


def renumbered(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b'"seq":2,', b'"seq":3,') for line in lines]


def cut(lines: list[bytes]) -> list[bytes]:
    return lines[:-1]


def rewritten(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b"no findings", b"no_findings") for line in lines]


@pytest.mark.parametrize("change", [dropped, reordered, doubled, renumbered, rewritten])
def test_changed_lines_fail(
    change: Callable[[list[bytes]], list[bytes]],
    folder: TraceFolder,
    verifier: Callable[[TraceFolder], str],
) -> None:
    path = folder.agent_stream(AGENT)
    lines = path.read_bytes().splitlines()
    changed = change(lines)
    assert changed != lines
    path.write_bytes(b"".join(line + b"\n" for line in changed))
    assert verifier(folder).endswith("is not what was recorded")


@pytest.mark.parametrize("change", [dropped, reordered, renumbered])
def test_a_bad_seq_fails_though_every_hash_is_right(
    change: Callable[[list[bytes]], list[bytes]],
    folder: TraceFolder,
    verifier: Callable[[TraceFolder], str],
) -> None:
    path = folder.agent_stream(AGENT)
    path.write_bytes(rechained(change(path.read_bytes().splitlines())))
    assert re.search(r"jsonl:\d+ is not what was recorded$", verifier(folder))


@pytest.mark.parametrize("change", [cut, rewritten])
def test_an_agents_stream_with_right_hashes_fails_at_its_anchor(
    change: Callable[[list[bytes]], list[bytes]],
    folder: TraceFolder,
    verifier: Callable[[TraceFolder], str],
) -> None:
    path = folder.agent_stream(AGENT)
    path.write_bytes(rechained(change(path.read_bytes().splitlines())))
    assert verifier(folder).endswith("does not hold what its run anchors")
    path.unlink()
    assert verifier(folder).endswith("does not hold what its run anchors")


@pytest.mark.slow
def test_any_flipped_byte_fails(folder: TraceFolder) -> None:
    verify = defined(VERIFIER, folder.root)["verify"]
    path = folder.run_stream(RUN)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(ValueError, match="not what was recorded"):
            verify(path)
    path.write_bytes(content)
    assert len(verify(path)[0]) == content.count(b"\n") + 1


def test_a_torn_tail_is_reported(
    folder: TraceFolder, verifier: Callable[[TraceFolder], str]
) -> None:
    with folder.run_stream(RUN).open("ab") as file:
        file.write(b'{"v":1,')
    assert verifier(folder).endswith("is not what was recorded")


def test_the_second_block_reads_blobs_whether_they_are_compressed_or_not(tmp_path: Path) -> None:
    folder = TraceFolder(tmp_path)
    folder.create()
    text = "é\n" * 2_000_000  # of more than one frame
    agent = Recorder(folder)
    agent.emit(ContextUpdate(source="hub", value=text), PacketDelta(diagnostics=("a",)))
    agent.emit(ContextUpdate(source="hub"), PacketDelta(diagnostics=("b",) * 20))
    agent.emit(ContextUpdate(source="hub"), PacketDelta(turn=1))
    agent.writer.close()
    block = defined(READER, tmp_path)
    path = folder.agent_stream(AGENT)
    reference = event_data([*read_events(path)][1])["value"]
    assert reference["$blob"]["bytes"] == len(text.encode())
    assert block["text_of"](folder.path, reference) == text
    digest = reference["$blob"]["sha256"]
    stored = folder.blobs.folder / digest[:2] / digest
    assert stored.stat().st_size < len(text) / 10
    stored.write_bytes(text.encode())  # as older versions stored it
    assert block["text_of"](folder.path, reference) == text
    stored.write_bytes(b"another")
    with pytest.raises(ValueError, match="not what was stored"):
        block["text_of"](folder.path, reference)
    assert block["findings"](path) == ["b"] * 20


def marks(page: str) -> dict[str, str]:
    """The forms of the page's table by their mark."""
    return dict(re.findall(r'^\| `\{"(\$\w+)": [^|]*\| ([^|]*) \|$', page, re.MULTILINE))


def test_every_marked_form_is_on_the_page() -> None:
    assert list(marks(PAGE)) == [
        "$blob", "$text", "$bytes", "$float", "$int", "$dict", "$repr",
    ]  # fmt: skip
    assert TOO_DEEP in marks(PAGE)["$repr"]
    assert decode_value({"$$float": "nan"}) == {"$float": "nan"}


def test_every_event_and_every_key_of_packets_and_deltas_is_on_the_page() -> None:
    words = set(re.findall(r"[a-z_]+", PAGE))
    assert set(PAYLOADS) <= words
    assert set(DecisionPacket.__struct_fields__) <= words
    assert set(PacketDelta.__struct_fields__) <= words
