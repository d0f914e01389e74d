"""ruff's findings, and the fixes that are made from them one by one."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruff import find_ruff_bin  # type: ignore[import-untyped]

from remora.errors import HostError
from remora.tools.host.ruff.processes import RuffStoppedError
from remora.tools.tree import ToolTree

CONFIG = '[lint]\nselect = ["E", "F", "B", "I", "UP", "PIE", "RUF"]\n'


@pytest.fixture(autouse=True)
def configured(tree: Path) -> None:
    (tree / "ruff.toml").write_text(CONFIG)


def codes(found: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(finding["code"], finding["line"]) for finding in found]


def test_a_finding_has_its_place_and_its_fix(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "a.py").write_text('print("𝕏é", f"")\n')

    assert call("ruff_check", ["a.py"], ["F541"]) == [
        {
            "code": "F541",
            "message": "f-string without any placeholders",
            "path": "a.py",
            "line": 1,
            "column": 13,
            "end_line": 1,
            "end_column": 16,
            "fix": {
                "applicability": "safe",
                "message": "Remove extraneous `f` prefix",
                "edits": [
                    {"line": 1, "column": 13, "end_line": 1, "end_column": 16, "content": '""'}
                ],
            },
        }
    ]


def test_findings_are_in_order_and_by_path(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "b.py").write_text("import os\nimport sys\n")
    (tree / "a").mkdir()
    (tree / "a" / "c.py").write_text("import os\n")

    found = call("ruff_check", ["b.py", "a"], ["F401"])

    assert [(f["path"], f["line"]) for f in found] == [("a/c.py", 1), ("b.py", 1), ("b.py", 2)]


def test_unsafe_fixes_are_given_only_where_asked_for(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "a.py").write_text("def f(a):\n    return a == None\n")

    assert call("ruff_check", ["a.py"])[0]["fix"] is None
    assert call("ruff_check", ["a.py"], None, True)[0]["fix"]["applicability"] == "unsafe"


def test_a_file_that_does_not_parse_has_a_finding(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "a.py").write_text("x = 1\nx = (\n")

    found = call("ruff_check", ["a.py"])

    assert {finding["code"] for finding in found} == {"invalid-syntax"}
    assert all(finding["fix"] is None for finding in found)


def test_a_file_that_is_not_utf8_has_a_finding(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "a.py").write_bytes(b'x = "\xff"\n')

    assert codes(call("ruff_check", ["a.py"])) == [("E902", 1)]


def test_text_that_is_in_no_file_is_checked_as_if_it_were(tree: Path) -> None:
    assert codes(ToolTree(tree).ruff.check_text("new.py", b"import os\n")) == [("F401", 1)]
    assert not (tree / "new.py").exists()


def test_a_project_that_has_ruff_fix_always_is_only_looked_at(
    tree: Path, call: Callable[..., Any]
) -> None:
    (tree / "ruff.toml").write_text("fix = true\nunsafe-fixes = true\n")
    (tree / "a.py").write_text("import os\n")
    assert codes(call("ruff_check", ["a.py"])) == [("F401", 1)]
    assert codes(ToolTree(tree).ruff.check_text("a.py", b"import sys\n")) == [("F401", 1)]
    assert (tree / "a.py").read_text() == "import os\n"


B006 = "def f(a=[]):\n\treturn a\n"
FIXES = {
    "the other findings stay": (
        "import os\nimport sys\n\nprint(f'')\n", ["F401", 2], "import os\n\nprint(f'')\n"
    ),
    "a column tells two findings of a line apart": (
        'print(f"é", f"b")\n', ["F541", 1, 13], 'print(f"é", "b")\n'
    ),
    "edits in two places": (
        B006, ["B006", 1], "def f(a=None):\n\tif a is None:\n\t\ta = []\n\treturn a\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "finding", "expected"), FIXES.values(), ids=FIXES)
def test_a_fix_is_applied(
    tree: Path, call: Callable[..., Any], source: str, finding: list[Any], expected: str
) -> None:
    (tree / "a.py").write_text(source)
    made = call("apply_ruff_fixes", "a.py", [finding], unsafe=True)
    assert made == {"applied": 1, "skipped": []}
    assert (tree / "a.py").read_text() == expected


@pytest.mark.parametrize(
    ("finding", "why"),
    [
        (["F401", 2], "a.py:2: no finding F401; findings on this line: none"),
        (["F401", 3], "this line: E711 in column 17"),
        (["E711", 3], "unsafe, not safe"),
        (["F631", 5], "has no fix"),
        (["F401"], "is not a finding"),
        (["F401", "1", None], "is not a finding"),
    ],
)
def test_nothing_is_written_where_a_fix_is_missing_or_not_safe(
    tree: Path, refusal: Callable[..., str], finding: list[Any], why: str
) -> None:
    content = "import os\ndef f(a):\n    return a == None\ndef g():\n    assert (1, 2)\n"
    (tree / "a.py").write_text(content)
    assert why in refusal("apply_ruff_fixes", "a.py", [["F401", 1], finding])
    assert (tree / "a.py").read_text() == content
    assert "Python files only" in refusal("apply_ruff_fixes", "ruff.toml", [["F401", 1]])


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_line_endings_and_mark_stay(
    tree: Path, call: Callable[..., Any], ending: bytes, mark: bytes
) -> None:
    lines = [b"import os", b"import sys", b"", b"", b"def f(a=[]):", b"    return sys, a", b""]
    (tree / "a.py").write_bytes(mark + ending.join(lines))

    call("apply_ruff_fixes", "a.py", [["F401", 1, None], ["B006", 5, None]], unsafe=True)

    fixed = [b"import sys", b"", b"", b"def f(a=None):", b"    if a is None:", b"        a = []"]
    assert (tree / "a.py").read_bytes() == mark + ending.join([*fixed, b"    return sys, a", b""])


def test_all_safe_fixes_give_what_ruff_itself_gives(
    tree: Path, call: Callable[..., Any], tmp_path: Path
) -> None:
    source = (
        "import sys\nimport os.path\n\n\ndef f(x):\n    y = f'ä'\n    print(f'', \"%s\" % x)\n"
        "    pass\n    return set([1, y])\n\n\nclass A(object):\n    pass\n"
    )
    (tree / "a.py").write_text(source)
    (tmp_path / "b.py").write_text(source)
    (tmp_path / "ruff.toml").write_text(CONFIG)
    found = call("ruff_check", ["a.py"], None, True)
    apart = [
        f for f in found if f["fix"] and f["fix"]["applicability"] == "safe" and f["code"] != "I001"
    ]

    made = call("apply_ruff_fixes", "a.py", [[f["code"], f["line"], f["column"]] for f in apart])
    command = [find_ruff_bin(), "check", "--no-cache", "-q", "--exit-zero", "--fix", "b.py"]
    subprocess.run(command, cwd=tmp_path, check=True)

    assert made == {"applied": len(apart), "skipped": []}
    assert len(apart) >= 6
    assert (tree / "a.py").read_text() == (tmp_path / "b.py").read_text()


def test_a_fix_that_overlaps_an_earlier_one_is_left(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "a.py").write_text("import sys\nimport os\n\nprint(sys)\n")

    made = call("apply_ruff_fixes", "a.py", [["F401", 2, None], ["I001", 1, None]])

    assert made == {"applied": 1, "skipped": [["I001", 1, 1, "overlaps another fix"]]}
    assert (tree / "a.py").read_text() == "import sys\n\nprint(sys)\n"


def test_one_edit_that_answers_two_findings_is_made_once(
    tree: Path, call: Callable[..., Any]
) -> None:
    (tree / "a.py").write_text("from os import path, sep\n")
    found = call("ruff_check", ["a.py"], ["F401"])

    made = call("apply_ruff_fixes", "a.py", [[f["code"], f["line"], f["column"]] for f in found])

    assert len(found) == 2
    assert (made["applied"], made["skipped"]) == (2, [])
    assert (tree / "a.py").read_text() == ""


def test_fixes_that_together_break_the_program_are_not_all_made(
    tree: Path, call: Callable[..., Any]
) -> None:
    (tree / "a.py").write_text("def f():\n    pass\n    pass\n")
    found = call("ruff_check", ["a.py"], ["PIE790"])

    made = call("apply_ruff_fixes", "a.py", [[f["code"], f["line"], f["column"]] for f in found])

    compile((tree / "a.py").read_text(), "a.py", "exec")
    assert made["applied"] + len(made["skipped"]) == len(found)
    assert made["applied"] >= 1


def test_the_findings_of_a_node_and_what_can_be_done(
    tree: Path, call: Callable[..., Any], refusal: Callable[..., str]
) -> None:
    (tree / "a.py").write_text(
        "import sys\nimport os\n\n\ndef f(a=[]):\n    def g():\n        return f''\n    return a == None\n"
    )

    module = call("node_findings", "a.py", "__module__")
    outer = call("node_findings", "a.py", "f")
    inner = call("node_findings", "a.py", "f.g")

    assert module["counts"] == {"F401": 2, "I001": 1}
    assert {f["fix_kind"] for f in module["findings"]} == {"overlap"}
    assert [(f["code"], f["fix_kind"]) for f in outer["findings"]] == [
        ("B006", "unsafe"),
        ("E711", "unsafe"),
    ]
    assert [(f["code"], f["fix_kind"]) for f in inner["findings"]] == [("F541", "safe")]
    assert inner["texts"] == ["F541 line 7: f-string without any placeholders"]
    assert inner["summary"] == "1 finding: F541; 1 with a safe fix"
    assert "there is no h" in refusal("node_findings", "a.py", "h")


def test_a_fix_that_reaches_beyond_the_node_is_none(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "ruff.toml").write_text('target-version = "py39"\n[lint]\nselect = ["UP035", "FA"]\n')
    (tree / "a.py").write_text(
        "from typing import Optional\n\n\ndef f(x: Optional[int]) -> None:\n    print(x)\n"
    )

    found = call("node_findings", "a.py", "f")["findings"]

    assert [(f["code"], f["fix_kind"]) for f in found] == [("FA100", "none")]


def test_a_file_that_does_not_parse_has_its_findings_at_the_module(
    tree: Path, call: Callable[..., Any]
) -> None:
    (tree / "a.py").write_text("def f(:\n    pass\n")

    assert call("node_findings", "a.py", "__module__")["findings"]
    assert call("node_findings", "a.py", "f")["findings"] == []


def test_a_fix_that_would_leave_a_finding_elsewhere_is_not_made(
    tree: Path, call: Callable[..., Any]
) -> None:
    (tree / "ruff.toml").write_text(
        'target-version = "py312"\n[lint]\nselect = ["F401", "UP006", "F541"]\n'
    )
    source = "from typing import List\n\n\ndef f(x: List[int]):\n    return f'', x\n"
    (tree / "a.py").write_text(source)

    why = "it would add F401 in line 1"
    made = call("apply_ruff_fixes", "a.py", [["UP006", 4, None], ["F541", 5, None]], node="f")
    assert made == {"applied": 1, "skipped": [["UP006", 4, 10, why]]}
    assert (tree / "a.py").read_text() == source.replace("f''", "''")

    # without a node the caller answers for what it leaves behind
    assert call("apply_ruff_fixes", "a.py", [["UP006", 4]])["applied"] == 1


class TestConfiguration:
    """The project's own configuration counts, and nothing from outside the root."""

    def test_the_projects_rules_and_exclusions_count(self, tree: Path) -> None:
        (tree / "ruff.toml").write_text('extend-exclude = ["skip"]\n[lint]\nselect = ["F541"]\n')
        (tree / "skip").mkdir()
        for path in ("a.py", "skip/b.py"):
            (tree / path).write_text("import os\nf''\n")

        found = ToolTree(tree).ruff.check(["a.py", "skip/b.py"], unsafe=True)

        assert [(f["path"], f["code"]) for f in found] == [("a.py", "F541")]

    def test_a_configuration_above_the_root_does_not_count(self, tree: Path) -> None:
        (tree / "ruff.toml").unlink()
        (tree.parent / "ruff.toml").write_text('[lint]\nselect = ["E711"]\n')
        (tree / "a.py").write_text("import os\n")

        assert ("F401", 1) in codes(ToolTree(tree).ruff.check(["a.py"], unsafe=True))
        assert ("F401", 1) in codes(ToolTree(tree).ruff.check(["."], unsafe=True))
        assert ("F401", 1) in codes(ToolTree(tree).ruff.check_text("a.py", b"import os\n"))

    def test_a_configuration_in_a_folder_counts_for_that_folder(self, tree: Path) -> None:
        (tree / "ruff.toml").unlink()
        (tree / "sub").mkdir()
        (tree / "sub" / "pyproject.toml").write_text('[tool.ruff.lint]\nselect = ["F541"]\n')
        for path in ("a.py", "sub/b.py"):
            (tree / path).write_text("import os\nf''\n")

        found = ToolTree(tree).ruff.check(["."], unsafe=True)

        assert ("sub/b.py", "F401") not in {(f["path"], f["code"]) for f in found}
        assert ("sub/b.py", "F541") in {(f["path"], f["code"]) for f in found}
        assert ("a.py", "F401") in {(f["path"], f["code"]) for f in found}

    def test_the_oldest_python_of_the_project_counts(self, tree: Path) -> None:
        (tree / "ruff.toml").unlink()
        (tree / "a.py").write_text("type X = int\n")
        (tree / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.12"\n')
        new = ToolTree(tree).ruff.check(["a.py"], unsafe=True)
        (tree / "pyproject.toml").write_text('[project]\nrequires-python = ">= 3.9, <4"\n')
        old = ToolTree(tree).ruff.check(["a.py"], unsafe=True)

        assert "invalid-syntax" not in {f["code"] for f in new}
        assert "invalid-syntax" in {f["code"] for f in old}

    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ("setup.cfg", "[metadata]\nname = a\n[options]\npython_requires = >=3.7, !=3.8.1\n"),
            (
                "setup.py",
                'import setuptools\nsetuptools.setup(name="a", python_requires=">=3.7")\n',
            ),
            ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.7"\n'),
            (
                "setup.cfg",
                "[metadata]\nclassifiers =\n    Programming Language :: Python :: 3\n"
                "    Programming Language :: Python :: 3.8\n",
            ),
        ],
    )
    def test_older_files_declare_the_oldest_python_too(
        self, tree: Path, path: str, text: str
    ) -> None:
        (tree / "ruff.toml").unlink()
        (tree / "a.py").write_text("from typing import List\n\nx: List[int] = []\n")
        assert "UP006" in {f["code"] for f in ToolTree(tree).ruff.check(["a.py"], unsafe=True)}
        (tree / path).write_text(text)
        assert "UP006" not in {f["code"] for f in ToolTree(tree).ruff.check(["a.py"], unsafe=True)}

    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ("setup.py", "import setuptools\nsetuptools.setup(python_requires=OLDEST)\n"),
            ("setup.py", "raise SystemExit(\n"),
            ("setup.cfg", "python_requires = >=3.7\n"),
            ("setup.cfg", "\xff"),
            ("setup.py", "#" * 2_000_000),
        ],
    )
    def test_an_unreadable_version_is_ignored(self, tree: Path, path: str, text: str) -> None:
        (tree / "ruff.toml").unlink()
        (tree / "a.py").write_text("from typing import List\n\nx: List[int] = []\n")
        (tree / path).write_bytes(text.encode("latin-1"))
        assert "UP006" in {f["code"] for f in ToolTree(tree).ruff.check(["a.py"], unsafe=True)}

    def test_a_configuration_may_extend_another_of_the_tree(self, tree: Path) -> None:
        (tree / "base.toml").write_text('[lint]\nselect = ["F541"]\n')
        (tree / "sub").mkdir()
        (tree / "sub" / "ruff.toml").write_text('extend = "../base.toml"\n')
        (tree / "sub" / "a.py").write_text("import os\nf''\n")

        assert codes(ToolTree(tree).ruff.check(["sub/a.py"], unsafe=True)) == [("F541", 2)]

    @pytest.mark.parametrize(
        "extend",
        ["../outer.toml", "/outer.toml", "~/outer.toml", "$HOME/x", "sub/../../outer.toml"],
    )
    def test_a_configuration_that_extends_beyond_the_root_is_refused(
        self, tree: Path, extend: str
    ) -> None:
        (tree.parent / "outer.toml").write_text("")
        (tree / "sub").mkdir()
        (tree / "ruff.toml").write_text(f"extend = '{extend}'\n")
        (tree / "a.py").write_text("")

        for path in ("a.py", ".", "sub"):
            with pytest.raises(HostError, match="outside the root"):
                ToolTree(tree).ruff.check([path], unsafe=True)

    @pytest.mark.parametrize(
        "extend", ["$BASE/base.toml", "${BASE}/base.toml", "sub/$BASE", "$BASE"]
    )
    @pytest.mark.parametrize("inside", [True, False])
    def test_a_variable_in_the_path_is_refused_wherever_it_leads(
        self, tree: Path, extend: str, inside: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What the environment holds must not decide which configuration counts."""
        monkeypatch.setenv("BASE", str(tree if inside else tree.parent))
        (tree / "sub").mkdir()
        (tree if inside else tree.parent).joinpath("base.toml").write_text(
            '[lint]\nselect = ["E"]\n'
        )
        (tree / "ruff.toml").write_text(f'extend = "{extend}"\n')
        (tree / "a.py").write_text("")
        with pytest.raises(HostError, match="outside the root"):
            ToolTree(tree).ruff.check(["a.py"], unsafe=True)

    @pytest.mark.parametrize("base", ["base.toml", "my-pyproject.toml", "sub/.ruff.toml"])
    def test_so_is_one_that_does_it_at_one_remove(self, tree: Path, base: str) -> None:
        (tree / "sub").mkdir()
        (tree / "ruff.toml").write_text(f'extend = "{base}"\n')
        (tree / base).write_text('extend = "/outer.toml"\n')
        (tree / "a.py").write_text("")

        with pytest.raises(HostError, match=rf"{base}: .*outside the root"):
            ToolTree(tree).ruff.check(["a.py"], unsafe=True)

    def test_a_circle_and_a_link_are_refused(self, tree: Path) -> None:
        (tree / "a.py").write_text("")
        (tree / "ruff.toml").write_text('extend = "ruff.toml"\n')
        with pytest.raises(HostError, match="circular"):
            ToolTree(tree).ruff.check(["a.py"], unsafe=True)

        (tree / "ruff.toml").unlink()
        (tree.parent / "outer.toml").write_text("")
        (tree / "ruff.toml").symlink_to(tree.parent / "outer.toml")
        with pytest.raises(HostError, match="symbolic link"):
            ToolTree(tree).ruff.check(["a.py"], unsafe=True)

    @pytest.mark.parametrize(
        "broken", ["[lint\n", '[lint]\nselect = ["NOPE1"]\n', "unknown-key = 1\n"]
    )
    def test_a_broken_configuration_is_said_in_one_line(self, tree: Path, broken: str) -> None:
        (tree / "ruff.toml").write_text(broken)
        (tree / "a.py").write_text("")

        with pytest.raises(HostError, match=r"ruff\.toml") as caught:
            ToolTree(tree).ruff.check(["a.py"], unsafe=True)
        assert "\n" not in caught.value.message


def test_many_files_are_checked_at_once(tree: Path) -> None:
    (tree / "m0.py").write_text("import os\n")
    for number in range(1, 30):
        shutil.copy(tree / "m0.py", tree / f"m{number}.py")

    assert (
        len(ToolTree(tree).ruff.check([f"m{number}.py" for number in range(30)], unsafe=True)) == 30
    )


def test_ruff_is_stopped_before_it_uses_gigabytes(tree: Path) -> None:
    with pytest.raises(RuffStoppedError, match="needed more than 1,024 MiB"):
        ToolTree(tree).ruff.check_text("huge.py", b"a;" * 500_000)
