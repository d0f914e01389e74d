"""Changes as records, and as diffs that git can apply."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from remora.workspaces.copy.changes import Change, FileState, changes_between, diff
from remora.workspaces.copy.snapshot import BaseFile, BaseSnapshot

BASE = BaseSnapshot(
    root=Path("r"), folder=Path("b"), files={"a": BaseFile("1", 0o644)}, commit=None, differing={}
)


def test_changes_between_two_snapshots() -> None:
    edited, gone, new = FileState("2", 0o644), FileState(None, 0o644), FileState("9", 0o755)
    change = Change(path="a", before="1", after="2", mode=0o644)
    assert changes_between({}, {}, BASE) == []
    assert changes_between({}, {"a": edited}, BASE) == [change]
    assert changes_between({"a": edited}, {}, BASE) == [
        Change(path="a", before="2", after="1", mode=0o644)
    ]
    assert changes_between({"a": edited}, {"a": gone, "n": new}, BASE) == [
        Change(path="a", before="2", after=None, mode=0o644),
        Change(path="n", before=None, after="9", mode=0o755),
    ]
    assert changes_between({"n": new}, {}, BASE) == [
        Change(path="n", before="9", after=None, mode=0o755)
    ]
    assert changes_between({}, {"a": FileState("1", 0o755)}, BASE) == [
        Change(path="a", before="1", after="1", mode=0o755)
    ]


lines = some.lists(some.sampled_from(["a\n", "b\n", "c\r\n", "d", "ü\n"]), max_size=8)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\n", b"a\nB\n"),
        (b"a\nb", b"a\nb\n"),
        (b"a\n", b"a\nb"),
        (b"a\r\nb\r\n", b"a\r\nc\r\n"),
        (None, b"new\n"),
        (b"old\n", None),
        (b"a\x0bb\nc\n", b"a\x0bb\nd\n"),
    ],
)
def test_git_applies_a_diff(before: bytes | None, after: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "src" / "a b.py"
    file.parent.mkdir()
    if before is not None:
        file.write_bytes(before)
    text = diff("src/a b.py", before, after)
    subprocess.run(["git", "apply", "-"], input=text.encode(), cwd=tmp_path, check=True)
    assert (file.read_bytes() if file.exists() else None) == after


@given(lines, lines)
def test_a_diff_tells_both_sides(before: list[str], after: list[str]) -> None:
    one, two = "".join(before).encode(), "".join(after).encode()
    text = diff("x", one, two)
    assert bool(text) is (one != two)
    assert text.count("\\ No newline") <= 2


def test_binary_files_and_repeated_lines_that_stay_are_not_shown() -> None:
    assert diff("x", b"\xff", b"a") == "Binary files a/x and b/x differ\n"
    assert diff("x", b"a\0", None) == "Binary files a/x and /dev/null differ\n"
    block = b"def f(self):\n    return self.value\n\n"
    before, after = block * 200, block.replace(b"):", b") -> str:") * 200
    changed = [line for line in diff("a.py", before, after).splitlines() if line[:1] in "+-"]
    assert {*changed[2:]} == {"-def f(self):", "+def f(self) -> str:"}


@pytest.mark.parametrize(
    ("before", "after", "old_mode", "mode", "head"),
    [
        (None, b"new\n", None, 0o6711, ["new file mode 100755"]),
        (None, b"", None, 0o755, ["new file mode 100755"]),
        (None, b"new\n", None, 0o666, ["new file mode 100644"]),
        (b"old\n", None, 0o755, 0o755, ["deleted file mode 100755"]),
        (b"a\n", b"b\n", 0o640, 0o750, ["old mode 100644", "new mode 100755"]),
        (b"a\n", b"a\n", 0o755, 0o644, ["old mode 100755", "new mode 100644"]),
        (b"a\n", b"b\n", 0o600, 0o644, []),
        (b"a\n", b"b\n", None, 0o755, []),
        (None, None, None, 0o644, []),
    ],
)
def test_modes_are_shown_as_git_shows_them(
    before: bytes | None, after: bytes | None, old_mode: int | None, mode: int, head: list[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    text = diff("s/x", before, after, mode=mode, old_mode=old_mode)
    lines = text.splitlines()
    assert (
        lines[: len(head) + 1] == ["diff --git a/s/x b/s/x", *head] if head else "mode" not in text
    )
    file = tmp_path / "s/x"
    file.parent.mkdir()
    if before is not None:
        file.write_bytes(before)
        file.chmod(old_mode or 0o644)
    if text:
        subprocess.run(["git", "apply", "-"], input=text.encode(), cwd=tmp_path, check=True)
    assert (file.read_bytes() if file.exists() else None) == after
    if after is not None and head:
        assert bool(file.stat().st_mode & 0o100) is bool(mode & 0o100)


@pytest.mark.parametrize(
    "name",
    [
        "n\nl.py",
        "a\n+++ b/other.py\n@@ -1 +1 @@",
        'a"b\\c.py',
        "\x1b[31mred.py",
        "caf\udce9.py",
        "ü.py",
    ],
)
def test_git_knows_odd_names_and_no_line_can_be_forged_by_one(name: str, tmp_path: Path) -> None:
    if "\n+++ b/other" in name:
        (tmp_path / "a\n+++ b").mkdir()
    file = tmp_path / name
    file.write_bytes(b"old\n")
    text = diff(name, b"old\n", b"new\n")
    assert len(text.splitlines()) == 5
    assert "\x1b" not in text
    subprocess.run(["git", "apply", "-"], input=text.encode(), cwd=tmp_path, check=True)
    assert file.read_bytes() == b"new\n"
