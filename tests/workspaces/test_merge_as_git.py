"""merge3 beside `git merge-file`: never another text, and never a merge of what overlaps."""

import subprocess
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as some

from remora.workspaces.apply.merge_lines import merge3

SLOW = settings(max_examples=60, deadline=None)  # each example is a process
WORDS = [b"a", b"b", b"c", b"", b"    return 1", b"x = 1"]
# of lines that repeat, more than one can be the line that was dropped, and git may see another one
texts = some.lists(some.sampled_from(WORDS), max_size=10, unique=True)


def by_git(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """What git makes of it; None for a conflict."""
    with TemporaryDirectory() as folder:
        places = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for place, content in zip(places, (ours, base, theirs), strict=True):
            place.write_bytes(content)
        done = subprocess.run(
            ["git", "merge-file", "-p", *map(str, places)], capture_output=True, check=False
        )
    assert done.returncode < 128, done.stderr
    return done.stdout if done.returncode == 0 else None


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def apart(lines: list[bytes]) -> bytes:
    """Lines that nobody changes between all others: no two changes touch."""
    return joined(list(chain.from_iterable((b"# %d" % n, line) for n, line in enumerate(lines))))


@SLOW
@given(texts, some.data())
def test_a_git_merge_is_equal_or_a_conflict_here(base: list[bytes], data: some.DataObject) -> None:
    sides = [joined(edited(base, data)) for _ in range(2)]
    merged = merge3(joined(base), *sides)
    expected = by_git(joined(base), *sides)
    if expected is not None and isinstance(merged, bytes):
        assert merged == expected


@SLOW
@given(some.integers(1, 8), some.data())
def test_where_changes_do_not_touch_git_and_we_agree_in_all(
    count: int, data: some.DataObject
) -> None:
    """Changes that touch are the one thing that merges here and not there: decision 0004."""
    base = [b"line %d" % number for number in range(count)]
    sides = [apart(replaced(base, data)) for _ in range(2)]
    expected = by_git(apart(base), *sides)
    merged = merge3(apart(base), *sides)
    assert (merged if isinstance(merged, bytes) else None) == expected


def edited(base: list[bytes], data: some.DataObject) -> list[bytes]:
    """Each line kept, dropped, changed, or followed by another one."""
    out: list[bytes] = []
    for line in base:
        act = data.draw(some.sampled_from(["keep", "keep", "keep", "drop", "change", "add"]))
        out += [line] if act in ("keep", "add") else []
        out += [data.draw(some.sampled_from(WORDS))] if act in ("change", "add") else []
    return out


def replaced(base: list[bytes], data: some.DataObject) -> list[bytes]:
    """Each line kept, dropped, or one of two others."""
    acts = {"keep": b"%s", "new": b"new %s", "other": b"other %s", "drop": b""}
    drawn = [(line, data.draw(some.sampled_from(sorted(acts)))) for line in base]
    return [acts[act] % line if act != "drop" else b"" for line, act in drawn]


def test_the_same_insertion_among_equal_lines_is_one() -> None:
    """Both added the last line once more, one of them another line too."""
    base, ours, theirs = b"a\na\nx\n", b"a\nb\na\nx\nx\n", b"a\na\nx\nx\n"
    assert by_git(base, ours, theirs) == ours
    assert merge3(base, ours, theirs) == ours


def test_changes_that_touch_merge_here_and_not_there() -> None:
    sides = b"A\nb\n", b"a\nB\n"
    assert by_git(b"a\nb\n", *sides) is None
    assert merge3(b"a\nb\n", *sides) == b"A\nB\n"
