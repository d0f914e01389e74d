"""Stamp: equal stamps mean equal bytes, unless the file is too young to say."""

from remora.hub.file_stamp import Stamp, is_racy

SECOND = 1_000_000_000


def test_young_and_future_files_are_racy() -> None:
    now = 100 * SECOND
    old = 98 * SECOND
    assert not is_racy(Stamp(1, old, old, 7), now)
    assert is_racy(Stamp(1, old, old + 1, 7), now)
    assert is_racy(Stamp(1, old + 1, old, 7), now)
    assert is_racy(Stamp(1, old, 200 * SECOND, 7), now)
    assert is_racy(Stamp(1, 200 * SECOND, old, 7), now)
