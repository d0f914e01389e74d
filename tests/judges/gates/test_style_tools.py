"""Flake8, black and isort on what they really print."""

import subprocess
import sys
import venv
from functools import partial
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.judges.gates import python_process
from remora.judges.gates.gate import Levels, worse
from remora.judges.gates.project_gates import find_gates, results_gate
from remora.sandbox.interpreters import ProjectPython
from remora.sandbox.process import run_command
from remora.tools.file_tree import FileTree
from remora.tools.host import declared_type_checker
from tests.cli.conftest import write

SETTINGS = {
    "pyproject.toml": "[tool.black]\n[tool.isort]\nprofile = 'black'\n",
    "setup.cfg": "[flake8]\nextend-ignore = F401\n",
}
GOOD = "import os\nimport sys\n\n\ndef f(n):\n    return n\n"


@pytest.fixture(scope="module")
def styled_python(tmp_path_factory: pytest.TempPathFactory) -> ProjectPython:
    """An interpreter with these tools, if they can be installed."""
    folder = tmp_path_factory.mktemp("styled")
    venv.create(folder / "env", symlinks=True)
    python = folder / "env" / "bin" / "python"
    words = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
    done = subprocess.run([*words, "flake8", "black", "isort"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("flake8, black and isort cannot be installed here")
    return ProjectPython(python=python, root=folder, trusted=True)


def measured(folder: Path, python: ProjectPython) -> dict[str, Levels]:
    files = [path.name for path in folder.iterdir()]
    gates, _ = find_gates(FileTree(folder), files, python)
    named = [gate for gate in gates if gate.name in ("flake8", "black", "isort")]
    return {gate.name: gate.measure(folder, 60, ()) for gate in named}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"pyproject.toml": "[tool.ty.rules]\nunresolved-import = 'error'\n"}, "a.py: error[invalid"),
        ({"Makefile": "types:\n\tty check\n"}, "a.py: error[invalid"),
        ({"pyproject.toml": "[tool.ty]\nof_tomorrow = 1\n"}, "unknown field `of_tomorrow`"),
    ],
)  # fmt: skip
def test_ty_of_the_environment_is_a_gate(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    write(tmp_path, {**settings, "a.py": "def f(n: int) -> str:\n    return n\n"})
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    gates, missing = find_gates(FileTree(tmp_path), ["a.py"], python)
    (ty,) = (gate for gate in gates if gate.name == "ty")
    assert not missing
    try:
        found = [*ty.measure(tmp_path, 60, ())]
    except HostError as error:
        found = [error.message]
    assert found[0].startswith(said)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        (f"# a comment\n{GOOD}", {}),
        (GOOD.replace("os\nimport sys", "sys\nimport os"), {"isort": "ERROR: a.py Imports are"}),
        (GOOD.replace("return n", "return  n"), {"black": "would reformat a.py", "flake8": "a.py: E271"}),
        (GOOD.replace("return n", "return m"), {"flake8": "a.py: F821 undefined name 'm'"}),
        (GOOD.replace("f(n)", "f(n"), {"black": "error: cannot", "flake8": "a.py: E"}),
    ],
)  # fmt: skip
def test_new_problems_are_worse(
    tmp_path: Path, styled_python: ProjectPython, text: str, complaints: dict[str, str]
) -> None:
    """A problem that was there before is none."""
    write(tmp_path, {**SETTINGS, "a.py": GOOD, "b.py": "def f( n ):\n    return missing\n"})
    before = measured(tmp_path, styled_python)
    assert before.keys() == {"flake8", "black", "isort"}
    (tmp_path / "a.py").write_text(text)
    after = measured(tmp_path, styled_python)
    found = {name: worse(before[name], after[name]) for name in after}
    assert {name for name, said in found.items() if said} == complaints.keys()
    for name, start in complaints.items():
        assert found[name][0].startswith(start)


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"pyproject.toml": "[project]\nextra = ['flake8>=7', 'black ; extra == 1', 'isort']\n"}, ()),
        ({"requirements-dev.txt": "flake8\nblack==24\n", ".github/workflows/a.yml": "pip install isort"}, ()),
        ({"tox.ini": "[testenv]\ndeps =\n  flake8\n  black\ncommands =\n  isort .\n"}, ["isort"]),
        ({"tox.ini": "[flake8]\nignore = E1\n", "setup.cfg": "[isort]\n"}, ["flake8", "isort"]),
        ({"Makefile": "\tpip install black && black .\n", "pyproject.toml": "x = ['flake8 a']\n"}, ["flake8", "black"]),
    ],
)  # fmt: skip
def test_a_tool_that_is_only_installed_is_no_gate(
    tmp_path: Path, settings: dict[str, str], names: list[str]
) -> None:
    write(tmp_path, settings)
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    gates, _ = find_gates(FileTree(tmp_path), [], python)
    assert [gate.name for gate in gates if gate.name not in ("imports", "pytest")] == [*names]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"setup.cfg": "[flake8]\nignore = E501  # long lines\n"}, "flake8"),
        ({"pyproject.toml": "[tool.black]\nrequired-version = '1'\n"}, "black"),
        ({"pyproject.toml": "[tool.black]\nline-length = 'wide'\n"}, "black"),
    ],
)
def test_a_tool_that_fails_judges_nothing(
    tmp_path: Path, styled_python: ProjectPython, settings: dict[str, str], name: str
) -> None:
    write(tmp_path, {**settings, "a.py": GOOD})
    gates, _ = find_gates(FileTree(tmp_path), ["a.py"], styled_python)
    (gate,) = (gate for gate in gates if gate.name == name)
    with pytest.raises(HostError):
        gate.measure(tmp_path, 60, ())


def test_only_a_plain_result_contradicts_an_annotation(tmp_path: Path) -> None:
    odd = "def a(n) -> str:\n    return 3\ndef b(n: str | None) -> str:\n    return n\n"
    write(tmp_path, {"a.py": f"{odd}def c() -> str:\n    return {{'n': 1}}\n"})
    gate = results_gate(FileTree(tmp_path), ["a.py"])
    assert gate
    assert [getattr(text, "lines", ()) for text in gate.measure(tmp_path, 60, ())] == [(2,), (6,)]


@pytest.mark.parametrize(("pin", "is_asked"), [("0.3.5", False), ("0.17.0", True)])
def test_rules_that_the_pinned_ruff_does_not_have_are_not_asked(
    tmp_path: Path, pin: str, is_asked: bool
) -> None:
    settings = {"ruff.toml": "[lint]\nselect = ['ALL']\npreview = true\n"}
    write(tmp_path, {**settings, "requirements.txt": f"ruff=={pin}\n", "a.py": GOOD})
    (ruff,) = (gate for gate in find_gates(FileTree(tmp_path), ["a.py"], None)[0])
    (tmp_path / "a.py").write_text("import os  # noqa: F401\nimport re\n")
    said = " ".join(ruff.measure(tmp_path, 60, ()))
    assert "unused-import" in said
    assert ("noqa-comments" in said) == is_asked


@pytest.mark.slow
@pytest.mark.parametrize(("hook", "problems"), [("", 1), ("  - id: ruff\n", 2)])
def test_a_linter_runs_where_the_project_runs_it(tmp_path: Path, hook: str, problems: int) -> None:
    files = dict.fromkeys(("pkg/a.py", "tests/b.py"), "import os\n")
    write(tmp_path, {**files, "Makefile": "\truff check pkg/\n", ".pre-commit-config.yaml": hook})
    (ruff,) = (gate for gate in find_gates(FileTree(tmp_path), [*files], None)[0])
    assert len(ruff.measure(tmp_path, 60, ())) == problems


@pytest.mark.parametrize("settings", [{"ruff.toml": ""}, {"mypy.ini": "[mypy]\n"}])
def test_a_tool_that_prints_too_much_judges_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
) -> None:
    limited = partial(run_command, output_limit=100)
    for module in (python_process, declared_type_checker):
        monkeypatch.setattr(module, "run_command", lambda command, **_: limited(command))
    write(tmp_path, {**settings, "a.py": "import os\nimport sys\nx: int = ''\ny: int = ''\n"})
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    gates, _ = find_gates(FileTree(tmp_path), ["a.py", *settings], python)
    (gate,) = (gate for gate in gates if gate.name in ("ruff", "mypy"))
    with pytest.raises(HostError, match="printed more than"):
        gate.measure(tmp_path, 60, ())


def test_a_tool_that_fails_without_a_word_is_no_gate(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=True)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    (packages / "flake8.py").write_text("raise SystemExit(3)\n")
    python = ProjectPython(
        python=tmp_path / "env" / "bin" / "python", root=tmp_path / "env", trusted=True
    )
    project = tmp_path / "project"
    project.mkdir()
    write(project, {**SETTINGS, "a.py": GOOD})
    gates, _ = find_gates(FileTree(project), ["a.py"], python)
    (flake8,) = (gate for gate in gates if gate.name == "flake8")
    with pytest.raises(HostError, match="exit code 3"):
        flake8.measure(project, 60, ())
