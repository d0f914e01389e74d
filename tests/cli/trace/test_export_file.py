"""Files of exports: whole or not there, for their owner alone."""

import os
import stat
import threading
from pathlib import Path

import pytest

from remora.cli.app.output import write_files
from remora.cli.trace.export import replace_when_done
from remora.errors import DiskError, UsageError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "rows.jsonl"


@pytest.mark.parametrize("mask", [0, 0o777])
def test_only_its_owner_reads_it(place: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with replace_when_done(place) as file:
            file.write(b"row\n")
    finally:
        os.umask(before)
    assert place.read_bytes() == b"row\n"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_the_old_file_stays_until_the_new_one_is_complete(place: Path) -> None:
    place.write_bytes(b"before")

    def interrupted() -> None:
        with replace_when_done(place) as file:
            file.write(b"half")
            file.flush()
            assert place.read_bytes() == b"before"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert place.read_bytes() == b"before"
    assert list(place.parent.iterdir()) == [place]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(link)
    with pytest.raises(DiskError, match="is a link"), replace_when_done(link):
        pass
    assert link.is_symlink()


def test_a_link_is_followed(place: Path, tmp_path: Path) -> None:
    """As every tool does with the file that its user names."""
    link = tmp_path / "link.jsonl"
    link.symlink_to(place)
    for content in (b"first", b"second"):
        with replace_when_done(link) as file:
            file.write(content)
        assert place.read_bytes() == content
        assert link.is_symlink()


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with replace_when_done(pipe) as file:
        file.write(b"row\n")
    reader.join()
    assert got == [b"row\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_and_a_missing_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"), replace_when_done(tmp_path):
        pass
    with (
        pytest.raises(DiskError, match="nowhere"),
        replace_when_done(tmp_path / "nowhere" / "file"),
    ):
        pass


def test_a_full_disk_is_reported() -> None:
    with pytest.raises(DiskError, match="/dev/full"), replace_when_done(Path("/dev/full")) as file:
        file.writelines([b"row\n"] * 10_000)


@pytest.mark.parametrize("current", ["project", "project/part", "."])
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_a_project_has_planted_is_not_written_to(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, current: str
) -> None:
    """Wherever the command runs: another folder is current with --root, or a part of the project."""
    project = tmp_path / "project"
    for folder in (".git", "part"):
        (project / folder).mkdir(parents=True)
    (project / "part/remora.yaml").touch()
    monkeypatch.chdir(tmp_path / current)
    planted = project / "out.jsonl"
    if kind == "link":
        planted.symlink_to(place)
    elif kind == "folder":
        (project / "reports").symlink_to(place.parent)
        planted = project / "reports" / place.name
    else:
        os.mkfifo(planted)
    place.write_bytes(b"before")
    with pytest.raises(DiskError), replace_when_done(planted) as file:
        file.write(b"lost")
    with pytest.raises(DiskError):
        write_files(planted.parent, {planted.name: "lost"})
    if kind == "folder":
        with pytest.raises(DiskError):
            write_files(planted.parent / "new", {"out": "lost"})
    assert place.read_bytes() == b"before"
    assert not (place.parent / "new").exists()


def test_a_folder_that_becomes_a_link_after_the_check_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = tmp_path / "project/reports"
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    reports.mkdir()

    def swap(*_arguments: object, **_options: object) -> None:
        reports.rename(tmp_path / "moved")
        reports.symlink_to(tmp_path / "outside")

    monkeypatch.setattr(Path, "mkdir", swap)
    with pytest.raises(DiskError):
        write_files(reports, {"remora.json": "lost"})
    assert not [*(tmp_path / "outside").iterdir()]
