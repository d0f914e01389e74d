"""ruff's findings, and the fixes that are made from them."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruff import find_ruff_bin  # type: ignore[import-untyped]

from remora.errors import HostError
from remora.tools.host.ruff.processes import MEMORY, RuffStoppedError
from remora.tools.tree import ToolTree

CONFIG = '[lint]\nselect = ["E", "F", "B", "I", "UP", "PIE", "RUF"]\n'
Call = Callable[..., Any]


@pytest.fixture(autouse=True)
def configured(tree: Path) -> None:
    (tree / "ruff.toml").write_text(CONFIG)


def write(tree: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)


def codes(found: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(finding["code"], finding["line"]) for finding in found]


def check(tree: Path, *paths: str) -> list[dict[str, Any]]:
    return ToolTree(tree).ruff.check([*paths], unsafe=True)


def test_a_finding_has_its_place_and_its_fix(tree: Path, call: Call) -> None:
    write(tree, {"a.py": 'print("𝕏é", f"")\n'})
    span = {"line": 1, "column": 13, "end_line": 1, "end_column": 16}
    fix = {
        "applicability": "safe",
        "message": "Remove extraneous `f` prefix",
        "edits": [{**span, "content": '""'}],
    }
    message = "f-string without any placeholders"
    assert call("ruff_check", ["a.py"], ["F541"]) == [
        {"code": "F541", "message": message, "path": "a.py", **span, "fix": fix}
    ]


def test_findings_are_in_order_and_by_path(tree: Path, call: Call) -> None:
    write(tree, {"b.py": "import os\nimport sys\n", "a/c.py": "import os\n"})
    found = call("ruff_check", ["b.py", "a"], ["F401"])
    assert [(f["path"], f["line"]) for f in found] == [("a/c.py", 1), ("b.py", 1), ("b.py", 2)]


def test_unsafe_fixes_are_given_only_where_asked_for(tree: Path, call: Call) -> None:
    write(tree, {"a.py": "def f(a):\n    return a == None\n"})
    assert call("ruff_check", ["a.py"])[0]["fix"] is None
    assert call("ruff_check", ["a.py"], None, True)[0]["fix"]["applicability"] == "unsafe"


@pytest.mark.parametrize(
    ("content", "code"), [(b"x = 1\nx = (\n", "invalid-syntax"), (b'x = "\xff"\n', "E902")]
)
def test_a_file_that_cannot_be_parsed_has_a_finding(
    tree: Path, call: Call, content: bytes, code: str
) -> None:
    (tree / "a.py").write_bytes(content)
    found = call("ruff_check", ["a.py"])
    assert {(finding["code"], finding["fix"]) for finding in found} == {(code, None)}


def test_text_that_is_in_no_file_is_checked_as_if_it_were(tree: Path) -> None:
    assert codes(ToolTree(tree).ruff.check_text("new.py", b"import os\n")) == [("F401", 1)]
    assert not (tree / "new.py").exists()


def test_a_project_that_has_ruff_fix_always_is_only_looked_at(tree: Path, call: Call) -> None:
    write(tree, {"ruff.toml": "fix = true\nunsafe-fixes = true\n", "a.py": "import os\n"})
    assert codes(call("ruff_check", ["a.py"])) == [("F401", 1)]
    assert codes(ToolTree(tree).ruff.check_text("a.py", b"import sys\n")) == [("F401", 1)]
    assert (tree / "a.py").read_text() == "import os\n"


FIXES = {
    "the other findings stay": (
        "import os\nimport sys\n\nprint(f'')\n", [["F401", 2]], [], "import os\n\nprint(f'')\n"
    ),
    "a column tells two findings of a line apart": (
        'print(f"é", f"b")\n', [["F541", 1, 13]], [], 'print(f"é", "b")\n'
    ),
    "edits in two places": (
        "def f(a=[]):\n\treturn a\n", [["B006", 1]], [],
        "def f(a=None):\n\tif a is None:\n\t\ta = []\n\treturn a\n",
    ),
    "a fix that overlaps an earlier one is left": (
        "import sys\nimport os\n\nprint(sys)\n", [["F401", 2, None], ["I001", 1, None]],
        [["I001", 1, 1, "overlaps another fix"]], "import sys\n\nprint(sys)\n",
    ),
    "one edit that answers two findings is made once": (
        "from os import path, sep\n", [["F401", 1, 16], ["F401", 1, 22]], [], ""
    ),
    "fixes that together break the program are not all made": (
        "def f():\n    pass\n    pass\n", [["PIE790", 2], ["PIE790", 3]],
        [["PIE790", 3, 5, "the file would not parse"]], "def f():\n    pass\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "findings", "skipped", "expected"), FIXES.values(), ids=FIXES)
def test_fixes_are_applied(
    tree: Path, call: Call, source: str, findings: list[Any], skipped: list[Any], expected: str
) -> None:
    write(tree, {"a.py": source})
    made = call("apply_ruff_fixes", "a.py", findings, unsafe=True)
    assert made == {"applied": len(findings) - len(skipped), "skipped": skipped}
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
    write(tree, {"a.py": content})
    assert why in refusal("apply_ruff_fixes", "a.py", [["F401", 1], finding])
    assert (tree / "a.py").read_text() == content
    assert "Python files only" in refusal("apply_ruff_fixes", "ruff.toml", [["F401", 1]])


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_line_endings_and_mark_stay(tree: Path, call: Call, ending: bytes, mark: bytes) -> None:
    lines = [b"import os", b"import sys", b"", b"", b"def f(a=[]):", b"    return sys, a", b""]
    (tree / "a.py").write_bytes(mark + ending.join(lines))
    call("apply_ruff_fixes", "a.py", [["F401", 1, None], ["B006", 5, None]], unsafe=True)
    fixed = [b"import sys", b"", b"", b"def f(a=None):", b"    if a is None:", b"        a = []"]
    assert (tree / "a.py").read_bytes() == mark + ending.join([*fixed, b"    return sys, a", b""])


def test_all_safe_fixes_give_what_ruff_itself_gives(tree: Path, call: Call, tmp_path: Path) -> None:
    source = (
        "import sys\nimport os.path\n\n\ndef f(x):\n    y = f'ä'\n    print(f'', \"%s\" % x)\n"
        "    pass\n    return set([1, y])\n\n\nclass A(object):\n    pass\n"
    )
    write(tree, {"a.py": source})
    write(tmp_path, {"b.py": source, "ruff.toml": CONFIG})
    apart = [
        [f["code"], f["line"], f["column"]]
        for f in call("ruff_check", ["a.py"], None, True)
        if f["fix"] and f["fix"]["applicability"] == "safe" and f["code"] != "I001"
    ]
    made = call("apply_ruff_fixes", "a.py", apart)
    command = [find_ruff_bin(), "check", "--no-cache", "-q", "--exit-zero", "--fix", "b.py"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert made == {"applied": len(apart), "skipped": []}
    assert len(apart) >= 6
    assert (tree / "a.py").read_text() == (tmp_path / "b.py").read_text()


def test_the_findings_of_nodes_and_what_can_be_done(
    tree: Path, call: Call, refusal: Callable[..., str]
) -> None:
    source = "import sys\nimport os\n\n\ndef f(a=[]):\n    def g():\n        return f''\n"
    write(tree, {"a.py": source + "    return a == None\n", "b.py": "def f(:\n    pass\n"})
    module, outer, inner = (call("file_findings", "a.py", [n]) for n in ("__module__", "f", "f.g"))
    assert module["counts"] == {"F401": 2, "I001": 1}
    assert {f["fix_kind"] for f in module["findings"]} == {"overlap"}
    kinds = [[(f["code"], f["fix_kind"]) for f in each["findings"]] for each in (outer, inner)]
    assert kinds == [[("B006", "unsafe"), ("E711", "unsafe")], [("F541", "safe")]]
    assert inner["texts"] == ["F541 line 7: f-string without any placeholders"]
    assert inner["summary"] == "1 finding: F541; 1 with a safe fix"
    assert {f["fix_kind"] for f in call("file_findings", "b.py", [])["findings"]} == {"none"}
    assert "b.py" in refusal("file_findings", "b.py", ["f"])


def test_a_fix_that_would_leave_a_finding_elsewhere_is_not_made(tree: Path, call: Call) -> None:
    source = "from typing import List\n\n\ndef f(x: List[int]):\n    return f'', x\n"
    settings = 'target-version = "py312"\n[lint]\nselect = ["F401", "UP006", "F541"]\n'
    write(tree, {"ruff.toml": settings, "a.py": source})
    made = call("apply_ruff_fixes", "a.py", [["UP006", 4, None], ["F541", 5, None]], node="f")
    skipped = ["UP006", 4, 10, "it would add F401 in line 1"]
    assert made == {"applied": 1, "skipped": [skipped]}
    assert (tree / "a.py").read_text() == source.replace("f''", "''")
    # without a node the caller answers for what it leaves behind
    assert call("apply_ruff_fixes", "a.py", [["UP006", 4]])["applied"] == 1


SETTINGS = {
    "rules and exclusions": (
        {"ruff.toml": 'extend-exclude = ["skip"]\n[lint]\nselect = ["F541"]\n'},
        ["a.py", "skip/b.py"], {("a.py", "F541")},
    ),
    "those of a folder": (
        {"skip/pyproject.toml": '[tool.ruff.lint]\nselect = ["F541"]\n'},
        ["."], {("a.py", "F401"), ("a.py", "F541"), ("skip/b.py", "F541")},
    ),
    "those that another of the tree extends": (
        {"base.toml": '[lint]\nselect = ["F541"]\n', "skip/ruff.toml": 'extend = "../base.toml"\n'},
        ["skip/b.py"], {("skip/b.py", "F541")},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "paths", "found"), SETTINGS.values(), ids=SETTINGS)
def test_the_projects_own_configuration_counts(
    tree: Path, settings: dict[str, str], paths: list[str], found: set[tuple[str, str]]
) -> None:
    (tree / "ruff.toml").unlink()
    write(tree, {"a.py": "import os\nf''\n", "skip/b.py": "import os\nf''\n", **settings})
    assert {(f["path"], f["code"]) for f in check(tree, *paths)} == found


def test_a_configuration_above_the_root_does_not_count(tree: Path) -> None:
    (tree / "ruff.toml").unlink()
    write(tree.parent, {"ruff.toml": '[lint]\nselect = ["E711"]\n'})
    write(tree, {"a.py": "import os\n"})
    assert ("F401", 1) in codes(check(tree, "a.py"))
    assert ("F401", 1) in codes(check(tree, "."))
    assert ("F401", 1) in codes(ToolTree(tree).ruff.check_text("a.py", b"import os\n"))


CLASSIFIED = (
    "[metadata]\nclassifiers =\n    Programming Language :: Python :: 3\n"
    "    Programming Language :: Python :: 3.8\n"
)


@pytest.mark.parametrize(
    ("path", "text", "is_old"),
    [
        ("pyproject.toml", '[project]\nrequires-python = ">= 3.7, <4"\n', True),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.7"\n', True),
        ("setup.cfg", "[options]\npython_requires = >=3.7, !=3.8.1\n", True),
        ("setup.cfg", CLASSIFIED, True),
        ("setup.py", 'import setuptools\nsetuptools.setup(python_requires=">=3.7")\n', True),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.12"\n', False),
        ("setup.py", "import setuptools\nsetuptools.setup(python_requires=OLDEST)\n", False),
        ("setup.py", "raise SystemExit(\n", False),
        ("setup.cfg", "python_requires = >=3.7\n", False),
        ("setup.cfg", "\xff", False),
        ("setup.py", "#" * 2_000_000, False),
    ],
)
def test_the_oldest_python_of_the_project_counts(
    tree: Path, path: str, text: str, is_old: bool
) -> None:
    (tree / "ruff.toml").unlink()
    write(tree, {"a.py": "from typing import List\n\nx: List[int] = []\n"})
    (tree / path).write_bytes(text.encode("latin-1"))
    assert ("UP006" not in {f["code"] for f in check(tree, "a.py")}) is is_old


@pytest.mark.parametrize(
    "extend", ["../outer.toml", "/outer.toml", "~/outer.toml", "$HOME/x", "sub/../../outer.toml"]
)
def test_a_configuration_that_extends_beyond_the_root_is_refused(tree: Path, extend: str) -> None:
    write(tree.parent, {"outer.toml": ""})
    write(tree, {"sub/b.py": "", "ruff.toml": f"extend = '{extend}'\n", "a.py": ""})
    for path in ("a.py", ".", "sub"):
        with pytest.raises(HostError, match="outside the root"):
            check(tree, path)


@pytest.mark.parametrize("extend", ["$BASE/base.toml", "${BASE}/base.toml", "sub/$BASE", "$BASE"])
@pytest.mark.parametrize("inside", [True, False])
def test_a_variable_in_the_path_is_refused_wherever_it_leads(
    tree: Path, extend: str, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the environment holds must not decide which configuration counts."""
    base = tree if inside else tree.parent
    monkeypatch.setenv("BASE", str(base))
    write(base, {"base.toml": '[lint]\nselect = ["E"]\n'})
    write(tree, {"sub/b.py": "", "ruff.toml": f'extend = "{extend}"\n', "a.py": ""})
    with pytest.raises(HostError, match="outside the root"):
        check(tree, "a.py")


@pytest.mark.parametrize("base", ["base.toml", "my-pyproject.toml", "sub/.ruff.toml"])
def test_so_is_one_that_does_it_at_one_remove(tree: Path, base: str) -> None:
    write(tree, {"ruff.toml": f'extend = "{base}"\n', base: 'extend = "/outer.toml"\n', "a.py": ""})
    with pytest.raises(HostError, match=rf"{base}: .*outside the root"):
        check(tree, "a.py")


def test_a_circle_and_a_link_are_refused(tree: Path) -> None:
    write(tree, {"a.py": "", "ruff.toml": 'extend = "ruff.toml"\n'})
    with pytest.raises(HostError, match="circular"):
        check(tree, "a.py")
    (tree / "ruff.toml").unlink()
    write(tree.parent, {"outer.toml": ""})
    (tree / "ruff.toml").symlink_to(tree.parent / "outer.toml")
    with pytest.raises(HostError, match="symbolic link"):
        check(tree, "a.py")


@pytest.mark.parametrize("broken", ["[lint\n", '[lint]\nselect = ["NOPE1"]\n', "unknown-key = 1\n"])
def test_a_broken_configuration_is_said_in_one_line(tree: Path, broken: str) -> None:
    write(tree, {"ruff.toml": broken, "a.py": ""})
    with pytest.raises(HostError, match=r"ruff\.toml") as caught:
        check(tree, "a.py")
    assert "\n" not in caught.value.message


def test_many_files_are_checked_at_once(tree: Path) -> None:
    paths = [f"m{number}.py" for number in range(30)]
    write(tree, dict.fromkeys(paths, "import os\n"))
    assert len(check(tree, *paths)) == 30


def test_ruff_is_stopped_before_it_uses_gigabytes(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MEMORY <= 1 << 30
    monkeypatch.setattr("remora.tools.host.ruff.ruff.MEMORY", 1 << 28)
    with pytest.raises(RuffStoppedError, match="needed more than 256 MiB"):
        ToolTree(tree).ruff.check_text("huge.py", b"a;" * 200_000)
