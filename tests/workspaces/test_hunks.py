"""Hunks are numbered as the diff shows them, and any selection of them can be applied."""

from hypothesis import given
from hypothesis import strategies as st

from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.hunks import ChangeHunk, hunks_of, named_diff, with_hunks

OLD = b"".join(b"line %d\n" % n for n in range(1, 21))
NEW = OLD.replace(b"line 2\n", b"").replace(b"line 4\n", b"four\n") + b"more\n"
TEXT = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d\n"]), max_size=12).map("".join)
FILE = st.one_of(
    st.none(), st.builds(lambda text, end: (text + end).encode(), TEXT, st.sampled_from(["", "z"]))
)


def patch(path: str, base: bytes | None, theirs: bytes | None) -> FilePatch:
    return FilePatch(path=path, base=base, theirs=theirs, mode=0o644)


def test_places_with_an_unchanged_line_between_them_are_hunks_of_their_own() -> None:
    found = hunks_of([patch("a.py", OLD, NEW), patch("b.py", None, b"x = 1\n")])
    assert [(each.number, each.path, each.line) for each in found] == [
        (1, "a.py", 2),
        (2, "a.py", 4),
        (3, "a.py", 21),
        (4, "b.py", 1),
    ]
    assert found[1].diff.splitlines() == [
        "@@ -1,7 +1,7 @@",
        *(" line 1", " line 2", " line 3"),
        *("-line 4", "+four"),
        *(" line 5", " line 6", " line 7"),
    ]
    assert found[3].diff == "@@ -0,0 +1 @@\n+x = 1\n"


def test_only_the_chosen_hunks_are_applied_and_a_binary_file_is_one() -> None:
    patches = [patch("a.py", OLD, NEW), patch("b.py", None, b"x = 1\n")]
    (kept,) = with_hunks(patches, {1, 3})
    assert kept.theirs == OLD.replace(b"line 2\n", b"") + b"more\n"
    assert with_hunks(patches, {4}) == patches[1:]
    assert with_hunks(patches, ()) == []
    patches = [patch("a.bin", b"\0a\n\nb\n", b"\0b\n\nc\n"), patch("b.py", b"x\n", None)]
    assert hunks_of(patches) == [
        ChangeHunk(
            number=1, path="a.bin", line=1, diff="Binary files a/a.bin and b/a.bin differ\n"
        ),
        ChangeHunk(number=2, path="b.py", line=1, diff="@@ -1 +0,0 @@\n-x\n"),
    ]
    assert with_hunks(patches, {1, 2}) == patches


def test_the_diff_of_some_hunks_has_their_numbers_and_labels() -> None:
    far = OLD.replace(b"line 20\n", b"last\n").replace(b"line 2\n", b"").replace(b"line 4\n", b"")
    patches = [patch("a.py", OLD, far), patch("b.py", None, b"x = 1\n")]
    text = named_diff(patches, {1: "F401", 2: "F401", 3: "UP006", 4: "load"})
    heads = [line for line in text.splitlines() if line.startswith("@@")]
    assert heads == [
        "@@ -1,7 +1,5 @@ hunk 1: F401; hunk 2: F401",
        "@@ -17,4 +15,4 @@ hunk 3: UP006",
        "@@ -0,0 +1 @@ hunk 4: load",
    ]
    text = named_diff(patches, {2: "F401", 3: "UP006"})
    assert "-line 2\n" not in text
    assert text.endswith(
        "@@ -17,4 +16,4 @@ hunk 3: UP006\n line 17\n line 18\n line 19\n-line 20\n+last\n"
    )


@given(st.lists(st.tuples(FILE, FILE), max_size=3))
def test_all_hunks_are_the_change_set(files: list[tuple[bytes | None, bytes | None]]) -> None:
    patches = [patch(f"{n}.py", *sides) for n, sides in enumerate(files)]
    numbers = [each.number for each in hunks_of(patches)]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert with_hunks(patches, numbers) == [each for each in patches if each.base != each.theirs]


@given(FILE, FILE, st.data())
def test_what_is_left_out_is_what_is_still_to_accept(
    old: bytes | None, new: bytes | None, data: st.DataObject
) -> None:
    """Applying some hunks, and then what remains, is applying all of them."""
    whole = [patch("a.py", old, new)]
    numbers = [each.number for each in hunks_of(whole)]
    chosen = {number for number in numbers if data.draw(st.booleans())}
    part = with_hunks(whole, chosen)
    now = part[0].theirs if part else old
    rest = len(hunks_of([patch("a.py", now, new)]))
    assert (rest == 0) == (chosen == set(numbers))
