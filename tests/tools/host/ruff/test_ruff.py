"""ruff's findings and fixes, of files and of shared processes."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ruff import find_ruff_bin  # type: ignore[import-untyped]

from remora.code.edit.text_lines import decode
from remora.errors import HostError
from remora.tools.host.ruff import processes
from remora.tools.host.ruff.config_files import oldest_minor
from remora.tools.host.ruff.processes import MEMORY, RuffProcesses, RuffStoppedError, start_process
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.tools.ruff_fixes import apply_fixes_together
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
    "edits in two places": (
        "def f(a=[]):\n\treturn a\n",
        "def f(a=None):\n\tif a is None:\n\t\ta = []\n\treturn a\n",
    ),
    "a fix that overlaps an earlier one is left": (
        "import sys\nimport os\n\nprint(sys)\n", "import sys\n\nprint(sys)\n",
    ),
    "one edit that answers two findings is made once": ("from os import path, sep\n", ""),
    "fixes that together break the program are not all made": (
        "def f():\n    pass\n    pass\n", "def f():\n    pass\n",
    ),
}  # fmt: skip


def fixed(tree: Path, content: bytes) -> bytes:
    findings = [f for f in check(tree, "a.py") if f["code"] != "I001"]
    return apply_fixes_together(decode("a.py", content), findings, unsafe=True)


@pytest.mark.parametrize(("source", "expected"), FIXES.values(), ids=FIXES)
def test_fixes_are_applied(tree: Path, source: str, expected: str) -> None:
    write(tree, {"a.py": source})
    assert fixed(tree, source.encode()) == expected.encode()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_line_endings_and_mark_stay(tree: Path, ending: bytes, mark: bytes) -> None:
    lines = [b"import os", b"import sys", b"", b"", b"def f(a=[]):", b"    return sys, a", b""]
    content = mark + ending.join(lines)
    (tree / "a.py").write_bytes(content)
    expected = [b"import sys", b"", b"", b"def f(a=None):", b"    if a is None:", b"        a = []"]
    assert fixed(tree, content) == mark + ending.join([*expected, b"    return sys, a", b""])


def test_all_safe_fixes_give_what_ruff_itself_gives(tree: Path, tmp_path: Path) -> None:
    source = (
        "import sys\nimport os.path\n\n\ndef f(x):\n    y = f'ä'\n    print(f'', \"%s\" % x)\n"
        "    pass\n    return set([1, y])\n\n\nclass A(object):\n    pass\n"
    )
    write(tree, {"a.py": source})
    write(tmp_path, {"b.py": source, "ruff.toml": CONFIG})
    safe = [f for f in ToolTree(tree).ruff.check(["a.py"]) if f["fix"] and f["code"] != "I001"]
    made = apply_fixes_together(decode("a.py", source.encode()), safe, unsafe=False)
    command = [find_ruff_bin(), "check", "--no-cache", "-q", "--exit-zero", "--fix", "b.py"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert len(safe) >= 6
    assert made == (tmp_path / "b.py").read_bytes()


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


IMPORT = b"import os\n"


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[RuffBase]:
    base = tmp_path / "base"
    base.mkdir()
    (base / "ruff.toml").write_text('lint.select = ["F401", "PLW0406"]\n')
    (base / "a.py").write_bytes(IMPORT)
    shared = RuffBase(base)
    yield shared
    shared.close()


def _copy(folder: Path, base: RuffBase, *, is_like_base: bool) -> ToolTree:
    shutil.copytree(folder / "base", folder / "copy")
    ruff = partial(Ruff, base=base, is_like_base=lambda: is_like_base)
    return ToolTree(folder / "copy", ruff=ruff)


@pytest.mark.parametrize("is_like_base", [True, False])
def test_a_copy_is_checked_as_its_base_unless_its_settings_differ(
    tmp_path: Path, shared: RuffBase, is_like_base: bool
) -> None:
    copy = _copy(tmp_path, shared, is_like_base=is_like_base)
    (copy.tree / "ruff.toml").write_text('lint.select = ["E501"]\n')
    found = [each["code"] for each in copy.ruff.check_text("a.py", IMPORT)]
    assert found == (["F401"] if is_like_base else [])


def test_what_is_known_of_a_version_of_a_file_needs_no_run(
    tmp_path: Path, shared: RuffBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    ruff = Ruff(ToolTree(tmp_path / "base"), shared)
    before = ruff.check(["a.py"], unsafe=True)
    other = ruff.check_text("a.py", b"x = 1\n")
    shared.keep("format", "a.py", IMPORT, True)
    monkeypatch.setattr("remora.tools.host.ruff.processes.RuffProcess.run", None)
    assert ruff.check_text("a.py", IMPORT) == before
    assert ruff.check_text("a.py", b"x = 1\n") == other == []
    assert ruff.is_formatted("a.py", IMPORT, options=None)


def test_a_file_of_a_copy_is_checked_in_the_process_of_the_base(
    tmp_path: Path, shared: RuffBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = _copy(tmp_path, shared, is_like_base=True)
    (copy.tree / "a.py").write_text("import sys\n")
    monkeypatch.setattr("remora.tools.host.ruff.ruff.run_command", None)
    found = copy.ruff.check_file("a.py")
    assert [each["message"] for each in found] == ["`sys` imported but unused"]


def test_a_module_is_not_named_after_the_folder_of_a_copy(tmp_path: Path, shared: RuffBase) -> None:
    (tmp_path / "base" / "__init__.py").touch()
    ruff = Ruff(ToolTree(tmp_path / "base"), shared)
    found = ruff.check_text("json.py", b"from . import json\n\nprint(json)\n")
    assert [each["message"] for each in found] == ["Module `json` imports itself"]


def test_a_process_that_did_not_answer_in_time_is_not_used_again(tmp_path: Path) -> None:
    with start_process(tmp_path, 30.0) as session:
        with pytest.raises(HostError, match="in time"):
            session.run(["/bin/sleep", "1"], b"", 0.1)
        with pytest.raises(HostError, match="after an error"):
            session.run(["/bin/echo", "fresh"], b"", 5.0)


CI = "name: x\njobs:\n  tests:\n    strategy:\n      matrix:\n        {}\n"
NEEDS_3_11 = """import datetime


def now():
    return datetime.datetime.now(datetime.timezone.utc)
"""


def _write(tree: Path, files: dict[str, str]) -> ToolTree:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    return ToolTree(tree)


@pytest.mark.parametrize(
    ("files", "minor"),
    [
        ({}, None),
        ({"setup.py": "setup(python_requires='>=3.8')", "tox.ini": "[tox]\nenvlist=py36"}, 8),
        ({"setup.py": "more['python_requires'] = '>=3.6'\n"}, 6),
        ({"tox.ini": "[tox]\nenvlist = py{39,310,311}-django{32,42}, pypy3, lint\n"}, 9),
        ({"tox.ini": "[tox]\nenv_list =\n    3.11\n    3.12\n"}, 11),
        ({"tox.ini": "[tox]\nenvlist = py3{9-13}\n"}, 9),
        ({".github/workflows/a.yml": CI.format('python-version: ["3.11", "3.12"]')}, 11),
        ({".github/workflows/a.yml": CI.format("python:\n        - '3.9'\n        - '3.13'")}, 9),
        ({".github/workflows/a.yml": "steps:\n- with:\n    python-version: '3.13'\n"}, None),
        ({"pyproject.toml": "[tool.black]\ntarget-version = [\n    'py38',\n    'py310',\n]\n"}, 8),
        ({"pyproject.toml": "[tool.pyright]\npythonVersion = '3.9'\n"}, 9),
        ({"mypy.ini": "[mypy]\npython_version = 3.8\n"}, 8),
        ({"setup.cfg": "[options]\npython_requires = >=3.9\n[mypy]\npython_version: 3.8\n"}, 8),
        ({".pre-commit-config.yaml": "  args: [--py36-plus]\n"}, 6),
        (
            {
                "setup.py": "setup(python_requires='>=3.8')",
                ".pre-commit-config.yaml": "[--py36-plus]",
            },
            8,
        ),
        ({".pre-commit-config.yaml": "  args: ['--target-version', 'py37']\n"}, 7),
        ({"Pipfile": "[requires]\npython_full_version = '3.8.10'\n"}, 8),
        ({"noxfile.py": "@nox.session(python=['3.9', '3.10', '3.8'])\n"}, 8),
        ({"environment.yml": "dependencies:\n  - conda-forge::python>=3.8,<3.12\n"}, 8),
        ({"docker/Dockerfile": "FROM python:3.8-slim AS base\n"}, 8),
        ({"Dockerfile.dev": "ARG PYTHON_VERSION=3.9\n"}, 9),
        ({".python-version": "3.9.18\n"}, 9),
        ({"Dockerfile": "FROM python:3.13\n"}, None),
        (
            {"pyproject.toml": "[project]\ndependencies = [\n  'a; python_version<\"3.8\"',\n]\n"},
            None,
        ),
    ],
)
def test_the_oldest_version_that_is_declared_or_tested(
    tmp_path: Path, files: dict[str, str], minor: int | None
) -> None:
    assert oldest_minor(_write(tmp_path, files)) == minor


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        ({}, []),
        ({"setup.py": "setup(python_requires='>=3.11')"}, ["UP017"]),
        ({"tox.ini": "[tox]\nenvlist = py312\n"}, ["UP017"]),
        ({"tox.ini": "[testenv:lint]\ncommands = ruff check\n"}, ["UP017"]),
        ({"ruff.toml": "lint.select = ['UP']\n"}, ["UP017"]),
        (
            {"setup.py": "setup(python_requires='>=3.11')", "Pipfile": "python_version = '3.8'\n"},
            [],
        ),
        ({"pyproject.toml": "[project]\nrequires-python = '>=3.11'\n"}, ["UP017"]),
        (
            {
                "pyproject.toml": "[project]\nrequires-python = '>=3.11'\n[tool.ruff]\n[tool.black]\n"
                "target-version = ['py39']\n"
            },
            [],
        ),
    ],
)
def test_code_for_a_newer_python_needs_a_declared_version_or_the_use_of_ruff(
    tmp_path: Path, files: dict[str, str], codes: list[str]
) -> None:
    _write(tmp_path, {**files, "a.py": NEEDS_3_11})
    assert [each["code"] for each in ToolTree(tmp_path).ruff.check(["a.py"], unsafe=True)] == codes


def test_a_process_that_cannot_be_ended_takes_no_place_in_the_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = RuffProcesses(tmp_path)
    monkeypatch.setattr(processes, "_MOST", 1)
    with pool.session(30.0):
        pass
    monkeypatch.setattr(processes, "_OLDEST", 0.0)
    pool._idle[0].opened.callback(int, "not a number")
    with pytest.raises(ValueError, match="not a number"), pool.session(30.0):
        pass
    monkeypatch.setattr(processes, "_OLDEST", 900.0)
    with pool.session(0.0):
        pool.close()
