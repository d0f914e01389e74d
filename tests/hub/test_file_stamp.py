"""Stamp: equal stamps mean equal bytes, unless the file is too young to say."""

import os
import time
from pathlib import Path

from remora.hub.file_stamp import Stamp, is_racy, stamp_of

SECOND = 1_000_000_000


def test_a_rewrite_with_size_and_mtime_put_back_has_another_stamp(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    os.utime(path, ns=(1, 1))
    before = stamp_of(path.lstat())
    time.sleep(0.02)  # longer than a tick of any kernel's clock
    path.write_text("x = 2\n")
    os.utime(path, ns=(1, 1))
    after = stamp_of(path.lstat())
    assert (after.size, after.mtime_ns, after.inode) == (before.size, 1, before.inode)
    assert after != before


def test_a_rename_over_it_has_another_inode(tmp_path: Path) -> None:
    path, other = tmp_path / "a.py", tmp_path / "b.py"
    path.write_text("x = 1\n")
    other.write_text("x = 2\n")
    before = stamp_of(path.lstat())
    other.replace(path)
    assert stamp_of(path.lstat()).inode != before.inode


def test_young_and_future_files_are_racy() -> None:
    now = 100 * SECOND
    old = 98 * SECOND
    assert not is_racy(Stamp(1, old, old, 7), now)
    assert is_racy(Stamp(1, old, old + 1, 7), now)
    assert is_racy(Stamp(1, old + 1, old, 7), now)
    assert is_racy(Stamp(1, old, 200 * SECOND, 7), now)
    assert is_racy(Stamp(1, 200 * SECOND, old, 7), now)
