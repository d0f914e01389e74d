"""A folder goes with all below it, however deep that is and whatever rights were taken away."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.runs.clean import size_of
from remora.workspaces import Base, make_driver, remove_tree
from tests.workspaces.conftest import skip_without, tree

DEEP = 1200
"""Deeper than Python recurses."""
LONG = "four"
"""A name that makes a path of so many folders longer than a path may be."""


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """Where a test fails, what it left would be in the way of pytest itself."""
    yield tmp_path
    for place in tmp_path.iterdir():
        subprocess.run(["rm", "-rf", place], check=True)


def nest(folder: Path, name: str = "d") -> None:
    """Folders within each other beneath `folder`, and a file in the last one."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir(name, dir_fd=here)
        deeper = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_a_deep_folder_goes(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    nest(place)
    nest(place, LONG)

    assert size_of(place) >= 0
    remove_tree(place)

    assert list(tmp_path.iterdir()) == []


def test_folders_without_rights_go(tmp_path: Path) -> None:
    place = tmp_path / "place"
    for name in ("a/b/c", "a/d", "e"):
        (place / name).mkdir(parents=True)
        (place / name / "file").write_text("x")
    for name in ("a/b/c", "a/b", "a", "e"):
        (place / name).chmod(0)

    remove_tree(place)

    assert not place.exists()


def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    place = tmp_path / "place"
    (place / "sub").mkdir(parents=True)
    (place / "link").symlink_to(outside)
    (place / "sub/link").symlink_to(outside)
    (place / "sub/file").symlink_to(outside / "file")

    remove_tree(place)

    assert not place.exists()
    assert (outside / "file").read_text() == "mine"


def test_a_link_is_no_folder_to_be_removed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(NotADirectoryError):
        remove_tree(tmp_path / "link")
    assert (tmp_path / "outside").is_dir()


def test_one_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remove_tree(tmp_path / "gone")


@pytest.mark.parametrize("kind", ["slot", "overlay"])
@pytest.mark.parametrize("above", ["", "__pycache__"])
@pytest.mark.parametrize("name", ["d", LONG])
def test_a_private_copy_that_was_nested_deeply_is_whole_for_the_next_job(
    tmp_path: Path, base: Base, kind: str, above: str, name: str
) -> None:
    skip_without(kind, tmp_path)
    driver = make_driver(kind, base, tmp_path / "cache")
    with driver.open() as workspace:
        before = tree(workspace.tree)
        (workspace.tree / above).mkdir(exist_ok=True)
        nest(workspace.tree / above, name)

    with driver.open() as workspace:
        assert tree(workspace.tree) == before
        assert workspace.snapshot() == {}
    driver.close()
