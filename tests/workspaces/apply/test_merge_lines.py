"""merge3: changes of different lines merge, changes of the same lines do not."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as some

from remora.workspaces.apply.line_diff import diff_hunks, split_lines
from remora.workspaces.apply.merge_lines import LineConflict, merge3, resolve3

texts = some.lists(some.sampled_from([b"a\n", b"b\n", b"\n", b"c\r\n", b"d"]), max_size=12).map(
    b"".join
)


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    result = merge3(base, ours, theirs)
    assert isinstance(result, bytes), result
    return result


@given(some.binary(max_size=30))
def test_lines_join_to_what_was_split(content: bytes) -> None:
    assert b"".join(split_lines(content)) == content


@given(texts, texts)
def test_hunks_lead_from_old_to_new(old: bytes, new: bytes) -> None:
    before, after = split_lines(old), split_lines(new)
    found = diff_hunks(before, after)
    out: list[bytes] = []
    at = 0
    for hunk in found:
        assert (hunk.start, hunk.end) == (at, at) or hunk.start > at or at == 0
        out += before[at : hunk.start] + list(hunk.lines)
        at = hunk.end
    assert out + before[at:] == after
    assert all(one.end < two.start for one, two in itertools.pairwise(found))


@given(texts, texts)
def test_one_sided_changes_are_taken_whole(base: bytes, side: bytes) -> None:
    assert merged(base, base, side) == side
    assert merged(base, side, base) == side
    assert merged(base, side, side) == side


@given(texts, texts, texts)
def test_sides_may_be_swapped(base: bytes, ours: bytes, theirs: bytes) -> None:
    one, other = merge3(base, ours, theirs), merge3(base, theirs, ours)
    if isinstance(one, bytes):
        assert other == one
    else:
        assert isinstance(other, tuple)
        swapped = [(c.start, c.end, c.theirs, c.ours) for c in one]
        assert [(c.start, c.end, c.ours, c.theirs) for c in other] == swapped or (
            len(one) == 1 and one[0].start == len(split_lines(base))
        )


@given(some.data())
def test_disjoint_line_edits_always_merge(data: some.DataObject) -> None:
    """Each line is edited, deleted or extended by at most one side, repeated lines included."""
    base = data.draw(some.lists(some.sampled_from([b"a\n", b"\n", b"x\r\n"]), max_size=12))
    who = [data.draw(some.sampled_from("oot.")) for _ in base]
    ours = [
        b"ours %d\n" % i if w == "o" else line
        for i, (w, line) in enumerate(zip(who, base, strict=True))
    ]
    theirs = [
        b"theirs %d\n" % i if w == "t" else line
        for i, (w, line) in enumerate(zip(who, base, strict=True))
    ]
    both = [
        b"ours %d\n" % i if w == "o" else b"theirs %d\n" % i if w == "t" else line
        for i, (w, line) in enumerate(zip(who, base, strict=True))
    ]
    assert merged(b"".join(base), b"".join(ours), b"".join(theirs)) == b"".join(both)


@given(some.integers(2, 12), some.data())
def test_disjoint_rewrites_of_distinct_lines_always_merge(
    count: int, data: some.DataObject
) -> None:
    base = [b"line %d\n" % i for i in range(count)]
    sizes = some.lists(some.sampled_from([0, 1, 1, 1, 2, 3]), min_size=count, max_size=count)
    owners = data.draw(some.lists(some.sampled_from("ot"), min_size=count, max_size=count))
    new = data.draw(sizes)

    def side(owner: str) -> bytes:
        out: list[bytes] = []
        for i, line in enumerate(base):
            mine = owners[i] in owner and new[i] != 1
            out += (
                [b"%s %d %d\n" % (owners[i].encode(), i, k) for k in range(new[i])]
                if mine
                else [line]
            )
        return b"".join(out)

    assert merged(b"".join(base), side("o"), side("t")) == side("ot")


def test_insertions_line_ends_and_last_newlines() -> None:
    assert merged(b"a\nb\n", b"a\nnew\nb\n", b"a\nB\n") == b"a\nnew\nB\n"
    assert merged(b"a\nb\n", b"a\nnew\nb\n", b"A\nb\n") == b"A\nnew\nb\n"
    ours = b"import os\na\n"
    assert merged(b"a\n", ours, ours) == ours
    assert isinstance(merge3(b"a\n", ours, b"import os\nA\n"), tuple)
    assert merged(b"a\r\nb\nc", b"A\r\nb\nc", b"a\r\nb\nC") == b"A\r\nb\nC"
    assert (
        merged(b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n", b"a\r\nb\r\nc\r\nd\r\n")
        == b"a\r\nB\r\nc\r\nd\r\n"
    )
    assert isinstance(merge3(b"a\nb\n", b"a\nb", b"a\nb\nc\n"), tuple)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "clash"),
    [
        (
            b"a\nb\nc\n",
            b"a\nB\nc\n",
            b"a\nX\nc\n",
            LineConflict(start=2, end=3, ours=b"B\n", theirs=b"X\n"),
        ),
        (
            b"a\nb\n",
            b"a\n1\nb\n",
            b"a\n2\nb\n",
            LineConflict(start=2, end=2, ours=b"1\n", theirs=b"2\n"),
        ),
        (
            b"a\nb\nc\n",
            b"a\n",
            b"a\nb\nC\n",
            LineConflict(start=2, end=4, ours=b"", theirs=b"b\nC\n"),
        ),
        (b"", b"x\n", b"y\n", LineConflict(start=1, end=1, ours=b"x\n", theirs=b"y\n")),
    ],
)
def test_different_changes_of_one_place_conflict(
    base: bytes, ours: bytes, theirs: bytes, clash: LineConflict
) -> None:
    assert merge3(base, ours, theirs) == (clash,)


def test_a_large_file_of_equal_lines_takes_no_time() -> None:
    base = b"\n" * 20000
    ours = b"top\n" + base + b"\n" * 100
    assert merged(base, ours, base + b"end\n").startswith(b"top\n")


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        (b"a\nb\n", b"a\nb", b"a\nb\nc\n", b"a\nb\nc\n"),  # the last newline, and lines after it
        (b"x = 1", b"x = 2", b"x = 3", b"x = 3"),
        (b"a\nb\nc\n", b"x\nb\nd\n", b"y\nb\nc\n", b"y\nb\nd\n"),
    ],
)
def test_conflicts_are_resolved_line_by_line(
    base: bytes, ours: bytes, theirs: bytes, merged: bytes
) -> None:
    assert resolve3(base, ours, theirs, lambda lines: lines.theirs) == merged
