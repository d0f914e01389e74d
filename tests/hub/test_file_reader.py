"""Reading a file whole, with a stamp that belongs to its bytes."""

import os
from pathlib import Path

import pytest

from remora.code.file_analysis import read_facts
from remora.errors import DiskError
from remora.hub.file_limits import FILE_LIMIT
from remora.hub.file_reader import open_reader, read_all
from remora.hub.file_stamp import Stamp


@pytest.mark.parametrize(
    ("tick_ns", "age_s", "proves"),
    [
        (1, 0.01, False),
        (1, 0.5, True),
        (1, -3600, False),  # the clock was set back
        (1_000_000_000, 0.5, False),
        (1_000_000_000, 3, True),
    ],
)
def test_a_stamp_proves_something_if_the_clock_has_ticked_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tick_ns: int, age_s: float, proves: bool
) -> None:
    place = tmp_path / "folder" / "a.py"
    place.parent.mkdir()
    place.write_bytes(b"x = 1\r\n")
    about = os.lstat(place)
    at = about.st_ctime_ns // tick_ns * tick_ns + (tick_ns == 1 and about.st_ctime_ns % 10**7 == 0)
    stamp = Stamp(7, at, at, about.st_ino)
    monkeypatch.setattr("remora.hub.file_reader.stamp_of", lambda _: stamp)
    monkeypatch.setattr("remora.hub.file_reader.time.time_ns", lambda: at + int(age_s * 1e9))

    with open_reader(tmp_path, limit=FILE_LIMIT) as reader:
        assert reader.read("folder/a.py") == (b"x = 1\r\n", stamp if proves else None, "")


def test_what_is_not_a_file_below_the_root_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "folder.py").mkdir(parents=True)
    (tmp_path / "secret.py").write_text("secret")
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    (root / "way").symlink_to(tmp_path)
    os.mkfifo(root / "pipe.py")

    with open_reader(root, limit=FILE_LIMIT) as reader:
        for path in ("folder.py", "way/secret.py", "pipe.py", "none.py", "../secret.py"):
            with pytest.raises(OSError):  # noqa: PT011 - each for a reason of its own
                reader.read(path)


def test_without_openat2_the_same_is_read_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(folder: int, path: bytes, flags: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("remora.hub.file_reader.openat2", missing)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.py").write_bytes(b"x")
    (tmp_path / "way").symlink_to(tmp_path / "folder")

    with open_reader(tmp_path, limit=FILE_LIMIT) as reader:
        assert reader.read("folder/a.py").data == b"x"
        with pytest.raises(OSError):  # noqa: PT011
            reader.read("way/a.py")


def test_the_facts_of_files_by_spelled_path(tmp_path: Path) -> None:
    source = b"def f():\n    return 1\n"
    (tmp_path / "a%b.py").write_bytes(source)
    (tmp_path / "link.py").symlink_to("../b.py")
    (tmp_path / "out.py").symlink_to(tmp_path / "a%b.py")
    found = read_all(tmp_path, ["a%b.py", "link.py", "out.py", "gone.py"])
    assert found.pop("a%25b.py") == read_facts("a%b.py", source)
    imports = {path: [node.imports for node in facts.nodes] for path, facts in found.items()}
    assert imports == {"link.py": [("..b.*",)], "out.py": [()]}
    with pytest.raises(DiskError):
        read_all(tmp_path / "gone", [])
