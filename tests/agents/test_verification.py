"""What a submission must pass."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.agents.verification import verify
from remora.bootstrap.operations import BUILT_IN
from remora.judges.lint.new_findings import new_findings
from remora.judges.submission import Submission
from remora.tools.tree import ToolTree
from tests.agents.conftest import a_job, of_job

BEFORE = b"import os\n\n\ndef f():\n    x = 1\n    return 1\n\n\ndef g():\n    return 2\n"


LINT = ("parses", "fewer_findings", "no_new_findings", "own_lines_only")


def finding(line: int, code: str = "F841", message: str = "x is unused") -> dict[str, Any]:
    return {"line": line, "code": code, "message": message}


def submission(
    after: bytes | None,
    *,
    before: bytes | None = BEFORE,
    node: str = "f",
    found: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], []),
    others: dict[str, tuple[bytes | None, bytes | None]] | None = None,
) -> Submission:
    return Submission(
        **of_job(a_job(node, "lint")),
        files={"mod.py": (before, after), **(others or {})},
        findings_before=lambda _: found[0],
        findings_after=lambda _: found[1],
    )


def said(name: str, made: Submission) -> str:
    return BUILT_IN.checks[name](made)


def failed(after: str, before: str = "", path: str = "mod.py") -> list[tuple[str, str]]:
    """What an agent without checks of its own is refused for."""
    files: dict[str, tuple[bytes | None, bytes | None]] = {
        path: (before.encode("latin-1"), after.encode("latin-1"))
    }
    made = submission(BEFORE, others=files)
    return [(check.name, check.detail) for check in verify([], made, BUILT_IN.checks)]


class TestAlwaysJudged:
    @pytest.mark.parametrize(
        ("before", "after", "detail"),
        [
            ("total = 1\nprint(total)\n", "sum_ = 1\nprint(total)\n", "Undefined name `total`"),
            (
                "def f():\n    n = 1\n    return n\n",
                "def f():\n    m = 1\n    return n  # noqa: F821\n",
                "Undefined name `n`",
            ),
            ("x = y\nx = 1\n", "x = y\nz = y\n", "Undefined name `y`"),
            (
                '__all__ = ["f"]\nf = 1\n',
                '__all__ = ["f"]\ng = 1\n',
                "Undefined name `f` in `__all__`",
            ),
            (
                "def f():\n    return 1\n\n\ndef g():\n    return 2\n",
                "def f():\n    return 1\n\n\ndef f():\n    return 2\n",
                "Redefinition of unused `f` from line 1: `f` redefined here",
            ),
            (
                "n = 1\ndef f():\n    print(n)\n    m = 2\n    return m\n",
                "n = 1\ndef f():\n    print(n)\n    n = 2\n    return n\n",
                "Local variable `n` referenced before assignment",
            ),
            (
                "import b\nimport a\nprint(a, b)\n",
                "import a\nimport c\nprint(a, b)\n",
                "Undefined name `b`",
            ),
            (
                "def b(): pass\nx = b\nfrom a import b\n",
                "from a import b\ndef b(): pass\nx = b\n",
                "Redefinition of unused `b` from line 1: `b` redefined here",
            ),
        ],
        ids=[
            *("use left behind", "silenced", "once more", "export", "defined twice", "too early"),
            *("import gone", "import moved"),
        ],
    )
    def test_a_name_that_is_not_defined_or_twice(
        self, before: str, after: str, detail: str
    ) -> None:
        ((name, found),) = failed(after, before)
        assert name == "defined_names"
        assert found.partition(": ")[2] == detail

    @pytest.mark.parametrize(
        "after", ["return 1\n", "def f(a, a): pass\n", "break\n", "def f(:\n", "x = '\0'\n"]
    )
    def test_a_file_that_does_not_compile(self, after: str) -> None:
        ((name, detail),) = failed(after)
        assert name == "parses"
        assert detail.startswith("mod.py: line 1: ")

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("print(x)\n", "\n\nprint(x, 1)\n"),
            ("return 1\n", "return 2\n"),
            ("", "from m import *\n\nprint(x)\n"),
            ("# coding: latin-1\nx = '\xff'\n", "# coding: latin-1\nx = '\xfe'\n"),
        ],
        ids=["name", "syntax", "star import", "encoding"],
    )
    def test_what_was_so_before_may_stay(self, before: str, after: str) -> None:
        assert failed(after, before) == []

    @pytest.mark.parametrize(
        ("after", "is_asked"),
        [
            ("import a\nfrom b import c, d\n\n@d\ndef f(x):\n    return (x,)\n", False),
            ("import a\nfrom b import c\n\n@c\ndef f(x):\n    return (x,)\n", True),
        ],
        ids=["layout and order of imports", "a name"],
    )
    def test_ruff_looks_for_names_only_if_they_may_differ(
        self, after: str, *, is_asked: bool
    ) -> None:
        before = b"from b import d, c\nimport a\n@d\ndef f(x): return (x,)\n"
        asked: list[str] = []

        def names(path: str, _content: bytes) -> list[dict[str, Any]]:
            asked.append(path)
            return []

        made = replace(submission(after.encode(), before=before), names=names)
        assert verify([], made, BUILT_IN.checks) == []
        assert bool(asked) is is_asked

    def test_other_files_are_not_judged(self) -> None:
        assert failed("return x\n", path="notes.txt") == []


def test_names_are_judged_whatever_the_projects_settings_say(tmp_path: Path) -> None:
    (tmp_path / "ruff.toml").write_text(
        'builtins = ["known"]\nexclude = ["*.py"]\nlint.ignore = ["F821"]\n'
        'lint.extend-per-file-ignores = {"*.py" = ["F"]}\n'
    )
    found = ToolTree(tmp_path).ruff.check_names("a.py", b"# ruff: noqa\nprint(known, unknown)\n")
    assert [each["message"] for each in found] == ["Undefined name `unknown`"]


class TestParses:
    def test_python_files_must_and_deleted_and_other_files_need_not(self) -> None:
        assert said("parses", submission(b"x = 1\n")) == ""
        assert said("parses", submission(b"x = (\n")).startswith("mod.py: line 1")
        others: dict[str, tuple[bytes | None, bytes | None]] = {"a.txt": (None, b"(")}
        assert said("parses", submission(None, others=others)) == ""


class TestFewerFindings:
    def test_fewer_on_the_node_wherever_it_moved(self) -> None:
        after = BEFORE.replace(b"    x = 1\n", b"")
        assert said("fewer_findings", submission(after, found=([finding(5)], []))) == ""
        after = b"# a\n# b\n" + BEFORE
        found = ([finding(5), finding(6)], [finding(8)])
        assert said("fewer_findings", submission(after, found=found)) == ""

    def test_equal_numbers_other_places_and_other_files_are_not_fewer(self) -> None:
        found = ([finding(5)], [finding(5)])
        detail = said("fewer_findings", submission(BEFORE, found=found))
        assert detail == "1 findings before, 1 after"
        detail = said("fewer_findings", submission(BEFORE, found=([finding(10)], [])))
        assert "0 findings before" in detail
        made = Submission(
            **of_job(a_job("f", "lint")),
            files={"other.py": (b"", b"x")},
            findings_before=lambda _: [],
            findings_after=lambda _: [],
        )
        assert said("fewer_findings", made) == "mod.py was not changed"

    @pytest.mark.parametrize(
        "comment", ["# noqa", "#NOQA: F841", "# ruff: noqa", "# flake8: noqa", "# isort: skip"]
    )
    def test_a_silenced_finding_is_not_one_less(self, comment: str) -> None:
        after = BEFORE.replace(b"x = 1", b"x = 1  " + comment.encode())
        detail = said("fewer_findings", submission(after, found=([finding(5)], [])))
        assert detail == "mod.py: a comment silences findings instead of fixing them"

    @pytest.mark.parametrize("comment", ["# noqa", "# noqa: E501, F841", "# noqa: F841"])
    def test_nor_is_one_that_a_wider_comment_silences(self, comment: str) -> None:
        before = BEFORE.replace(b"x = 1", b"x = 1  # noqa: E501")
        after = before.replace(b"# noqa: E501", comment.encode())
        detail = said("fewer_findings", submission(after, before=before, found=([finding(5)], [])))
        assert detail == "mod.py: a comment silences findings instead of fixing them"

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"# noqa: E501", b""),
            (b"# noqa: E501, W291", b"# noqa: E501"),
            (b"# noqa", b"# noqa: E501"),
            (b"# type: ignore[a, b]", b"# type: ignore[b]"),
        ],
    )
    def test_comments_that_silence_may_stay_or_go(self, old: bytes, new: bytes) -> None:
        before = BEFORE.replace(b"x = 1", b"x = 1  " + old)
        for after in (before.replace(old, new), before.replace(b"x =", b"_ =")):
            made = submission(after, before=before, found=([finding(5)], []))
            assert said("fewer_findings", made) == ""

    @pytest.mark.parametrize("after", [None, b"import os\n", b"def f(:\n"])
    def test_a_node_that_vanished_has_not_fewer(self, after: bytes | None) -> None:
        detail = said("fewer_findings", submission(after, found=([finding(5)], [])))
        assert detail == "mod.py has no f any more"


class TestWholeFixes:
    """Every fix adds the same two lines, whose finding is in the signature."""

    GUARD = "    if x is None:\n        x = []\n"
    LEFT = b"def f(x=[]):\n    return x\n\n\ndef g(x=[]):\n    return x\n"

    def found(self, line: int) -> dict[str, Any]:
        edits = [
            {"line": line, "column": 9, "content": "None"},
            {"line": line + 1, "column": 1, "content": self.GUARD},
        ]
        return {**finding(line, "B006"), "fix": {"edits": edits}}

    def said(self, after: bytes, *left: dict[str, Any]) -> str:
        return said("whole_fixes", submission(after, before=self.LEFT, found=([], [*left])))

    def test_only_a_part_of_a_fix_is_not_enough(self) -> None:
        after = self.LEFT.replace(b"    return", self.GUARD.encode() + b"    return", 1)
        assert self.said(after, self.found(1)) == "mod.py:1: only a part of the fix of B006"
        after = self.LEFT.replace(b"[]):\n", b"None):\n" + self.GUARD.encode(), 1)
        assert self.said(after, self.found(7)) == ""


class TestNoNewFindings:
    def test_a_finding_may_move_and_no_new_one_may_come(self) -> None:
        found = ([finding(5)], [finding(50)])
        assert said("no_new_findings", submission(b"", found=found)) == ""
        found = ([finding(5)], [finding(5), finding(6, "E501", "too long")])
        assert said("no_new_findings", submission(b"", found=found)) == (
            "mod.py: new finding E501 too long"
        )
        before = [finding(1, "E501", "too long (101 > 100)")]
        after = [finding(1, "E501", "too long (102 > 100)")]
        assert new_findings(before, after) == []
        assert new_findings(before, after * 2) == after


class TestOwnLinesOnly:
    def test_the_nodes_own_lines_may_change_and_no_other_file(self) -> None:
        assert said("own_lines_only", submission(BEFORE.replace(b"    x = 1\n", b""))) == ""
        assert said("own_lines_only", submission(BEFORE + b"\n")) == ""
        inside = BEFORE.replace(b"def g():\n", b"def g():\n\n")
        assert said("own_lines_only", submission(inside)) == "mod.py: lines outside f changed"
        made = submission(BEFORE, others={"b.py": (b"", b"x")})
        assert said("own_lines_only", made) == "b.py is not the target's file"

    @pytest.mark.parametrize(
        "edit",
        [
            lambda b: b.replace(b"return 2", b"return 3"),
            lambda b: b.replace(b"import os\n", b""),
            lambda b: b + b"x = 1\n",
            lambda b: b"# new\n" + b,
            lambda b: b.replace(b"\n", b"\r\n"),
        ],
        ids=["another function", "an import", "the end", "the beginning", "line ends"],
    )
    def test_no_other_line_may(self, edit: Callable[[bytes], bytes]) -> None:
        detail = said("own_lines_only", submission(edit(BEFORE)))
        assert detail == "mod.py: lines outside f changed"

    @pytest.mark.parametrize("after", [None, b"import os\n", b"def f(:\n"])
    def test_the_node_must_stay(self, after: bytes | None) -> None:
        assert said("own_lines_only", submission(after)) == "mod.py has no f any more"

    @pytest.mark.parametrize(
        ("before", "after"),
        [(b"import os\n", b""), (b"import os\ndef f(): pass\n", b"def f(): pass\n")],
    )
    def test_a_module_may_lose_its_last_own_line(self, before: bytes, after: bytes) -> None:
        made = submission(after, before=before, node="__module__", found=([finding(1)], []))
        assert [check.detail for check in verify(LINT, made, BUILT_IN.checks)] == [""] * 4

    def test_lines_of_a_nested_function_are_its_own(self) -> None:
        before = b"def f():\n    def inner():\n        return 1\n    return inner\n"
        after = before.replace(b"return 1", b"return 2")
        detail = said("own_lines_only", submission(after, before=before))
        assert detail == "mod.py: lines outside f changed"
        assert said("own_lines_only", submission(after, before=before, node="f.inner")) == ""

    def test_a_function_that_a_fix_makes_of_a_lambda_belongs_to_the_node(self) -> None:
        before = b"def f():\n    inner = lambda: 1\n    return inner\n"
        after = before.replace(b"inner = lambda: 1", b"def inner():\n        return 1")
        gone: tuple[list[dict[str, Any]], list[dict[str, Any]]] = (
            [finding(2, "E731", "a lambda")],
            [],
        )
        made = submission(after, before=before, found=gone)
        assert [check.detail for check in verify(LINT, made, BUILT_IN.checks)] == [""] * 4
        back = submission(before, before=after)
        assert said("own_lines_only", back) == "mod.py: lines outside f changed"


class TestDocstrings:
    ADDED = BEFORE.replace(b"    x = 1\n", b'    """Eff."""\n    x = 1\n')

    def test_only_the_nodes_docstring_in_its_file_may_change(self) -> None:
        assert said("docstrings_only", submission(self.ADDED)) == ""
        for changed in (
            self.ADDED.replace(b"return 1", b"return 3"),
            self.ADDED.replace(b"x = 1", b"x = 1  # one"),
            self.ADDED.replace(b"    return 2", b'    """Gee."""\n    return 2'),
        ):
            assert said("docstrings_only", submission(changed)).endswith("changed")
        others: dict[str, tuple[bytes | None, bytes | None]] = {"b.py": (b"", b'"""B."""\n')}
        detail = said("docstrings_only", submission(self.ADDED, others=others))
        assert detail.startswith("b.py: not the file of")
        assert said("documented", submission(self.ADDED)) == ""
        assert said("documented", submission(BEFORE)) == "f has no docstring"
        old = self.ADDED.replace(b'Eff."""', b'Eff.\n\n    :param gone: Was.\n    """')
        assert said("documented", submission(old)).startswith("its docstring is outdated: ")


def test_an_unknown_check_is_a_broken_promise() -> None:
    with pytest.raises(KeyError):
        verify(["nope"], submission(BEFORE), BUILT_IN.checks)
