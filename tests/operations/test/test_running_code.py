"""What trial calls and runs of tests show, and what code of the project cannot do."""

import contextlib
import sys
from pathlib import Path

import msgspec
import pytest

from remora.errors import HostError
from remora.judges.calls.case import CallInput, Case
from remora.judges.calls.project_examples import ProjectExamples
from remora.judges.calls.target_function import TargetFunction, target_at
from remora.judges.calls.trials import try_calls
from remora.judges.tests.circumstances import HERE
from remora.judges.tests.mutation_check import prove
from remora.judges.tests.test_runs import Outcomes, run_tests
from remora.operations.test.file_tests import write_examples
from remora.operations.test.function_plan import plan_missing
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree
from tests.isolation_levels import need

SIZES = '''\
"""Sizes."""


class SizeError(Exception):
    """No size."""


def parse_size(text):
    """The number of bytes.

    >>> parse_size("10k")
    10240
    >>> parse_size("a")
    1
    """
    if not text:
        raise SizeError("empty")
    if text.endswith("k"):
        return int(text[:-1]) * 1024
    return len(text)
'''
WRITTEN = """\
from sizes import parse_size


def test_parse_size():
    assert parse_size("10k") == 10240
    assert parse_size("a") == 1
"""
UNSTEADY = {
    "the time": "import time\ndef f():\n    return int(time.time())\n",
    "the date": "import datetime\ndef f():\n    return datetime.date.today().isoformat()\n",
    "now": "from datetime import datetime\ndef f():\n    return datetime.now().year\n",
    "the time as text": "import time\ndef f():\n    return time.ctime()[:10]\n",
    "its parts as text": "import time\ndef f():\n    return time.asctime()[:10]\n",
    "the time zone": "import time\ndef f():\n    return time.localtime(0).tm_hour\n",
    "chance": "import random\ndef f():\n    return random.random()\n",
    "hashes": "def f():\n    return list({'a', 'b', 'c', 'd', 'e'})\n",
    "addresses": "def f():\n    return object()\n",
    "its place": "def f():\n    return __file__\n",
    "the home": "import os\ndef f():\n    return os.path.expanduser('~/todo')\n",
    "a home without the variable": "import pathlib\ndef f():\n    return pathlib.Path.home().name\n",
    "the user": "import getpass\ndef f():\n    return getpass.getuser()\n",
    "a folder of the desktop": "import os\nget = os.environ.get\ndef f():\n    return get('XDG_CONFIG_HOME', '~/.config')\n",
    "the working directory": "import os\ndef f():\n    return os.path.exists('mod.py')\n",
    "the name of the machine": "import socket\ndef f():\n    return len(socket.gethostname())\n",
    "another name of it": "import os\ndef f():\n    return len(os.uname().nodename)\n",
    "the language": "import os\nget = os.environ.get\ndef f():\n    return get('LANGUAGE', 'en')\n",
    "the locale": "import locale\ndef f():\n    return locale.setlocale(locale.LC_ALL, '')\n",
    "the terminal": "import shutil\ndef f():\n    return shutil.get_terminal_size().columns\n",
    "temporary files": "import tempfile\ndef f():\n    return tempfile.gettempdir()\n",
    "the network": "import socket\ndef f():\n    socket.create_connection(('127.0.0.1', 9))\n    return 1\n",
}
HOSTILE = {
    "removes files": "import shutil, os\ndef f():\n    shutil.rmtree(os.path.dirname(__file__))\n    return 1\n",
    "writes files": "def f():\n    open('made', 'w').write('x')\n    return 1\n",
    "reads files elsewhere": "def f():\n    return open('/etc/passwd').read()[:4]\n",
    "starts programs": "import subprocess\ndef f():\n    return subprocess.call(['true'])\n",
    "never ends": "def f():\n    while True:\n        pass\n",
    "forks": "import os\ndef f():\n    while True:\n        os.fork()\n",
    "prints a gigabyte": "def f():\n    for _ in range(1024):\n        print('x' * 2**20)\n    return open('x', 'w')\n",
    "leaves the interpreter": "import os\ndef f():\n    os._exit(0)\n",
    "asks to leave": "def f():\n    raise SystemExit(0)\n",
    "kills": "import os, signal\ndef f():\n    os.kill(os.getppid(), signal.SIGKILL)\n    return 1\n",
    "takes all memory": "def f():\n    return len(bytearray(2**40))\n",
}


@pytest.fixture
def place(tree: Path, plain_python: ProjectPython) -> ToolTree:
    """A project whose code may be run."""
    return ToolTree(tree, msgspec.structs.replace(plain_python, root=tree.parent / "project"))


def outcomes(place: ToolTree, *tests: str) -> Outcomes:
    return run_tests(place, tests, HERE)


def results(place: ToolTree, *calls: str, path: str = "mod.py") -> dict[str, str]:
    """Return the values or exceptions of those calls of a function that have a result."""
    subject = target_at(place, path, calls[0].partition("(")[0])
    assert isinstance(subject, TargetFunction)
    found = try_calls(place, subject, [CallInput(call=call) for call in calls], faults=()).cases
    return {case.call: case.value or case.raises for case in found}


def seen(tree: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(tree.rglob("*")) if p.is_file()}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_from_what_it_does_to_a_test_that_notices_faults(tree: Path, place: ToolTree) -> None:
    (tree / "sizes.py").write_text(SIZES)
    plan = plan_missing(place, "sizes.py", "parse_size", ProjectExamples(place))
    assert plan.worth["killed"] > 5
    written = write_examples(place, "sizes.py", "parse_size", plan.cases)
    assert (tree / "tests/test_sizes.py").read_text() == WRITTEN
    proof = prove(place, "sizes.py", "parse_size", written["ids"])
    assert not proof.problem
    assert (len(proof.killed), proof.tried) == (plan.worth["killed"], plan.worth["mutants"])
    assert sorted(seen(tree)) == ["sizes.py", "test_sizes.py"]


@pytest.mark.slow
def test_rows_of_a_table_are_one_test(tree: Path, place: ToolTree) -> None:
    (tree / "mod.py").write_text("def f(a):\n    return a + 1\n")
    rows = "import pytest\nfrom mod import f\n\n\n@pytest.mark.parametrize('a', [1, 2])\n"
    (tree / "test_mod.py").write_text(rows + "def test_f(a):\n    assert f(a) == a + 1\n")
    found = outcomes(place, "test_mod.py::test_f")
    assert found.of("test_mod.py::test_f") == "passed"
    assert sorted(found.tests) == ["test_mod.py::test_f[1]", "test_mod.py::test_f[2]"]


@pytest.mark.slow
def test_pytest_start_errors_are_reported(tree: Path, place: ToolTree) -> None:
    (tree / "test_mod.py").write_text("def test_f():\n    assert True\n")
    (tree / "conftest.py").write_text("import nowhere_at_all\n")
    assert "nowhere_at_all" in outcomes(place, "test_mod.py::test_f").problems["test_mod.py"]


def test_calls_have_values_or_exceptions(tree: Path, place: ToolTree) -> None:
    (tree / "sizes.py").write_text(SIZES)
    calls = ["parse_size('2k')", "parse_size('')", "parse_size(3)"]
    assert results(place, *calls, path="sizes.py") == {calls[0]: "2048", calls[1]: "SizeError"}


@pytest.mark.slow
@pytest.mark.parametrize("what", UNSTEADY)
def test_environment_dependent_results_are_not_asserted(
    tree: Path, place: ToolTree, what: str
) -> None:
    (tree / "mod.py").write_text(UNSTEADY[what])
    assert results(place, "f()") == {}


@pytest.mark.slow
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_functions_are_contained(tree: Path, place: ToolTree, what: str) -> None:
    (tree / "mod.py").write_text(HOSTILE[what] + "\n\ndef fine():\n    return 2\n")
    before = seen(tree)
    with contextlib.suppress(HostError):  # it ended what would have told of it
        assert results(place, "f()") == {}
    assert seen(tree) == before
    assert results(place, "fine()") == {"fine()": "2"}


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param('"[" * 200_000', id="deep"),
        pytest.param(
            '\'{"tests": {"a": 1}, "lines": 3, "how": []}\'',
            id="of other types",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            '\'{"problem": {}, "tests": [], "failed": 7, "code": "0"}\'',
            id="of other types too",
            marks=pytest.mark.slow,
        ),
        pytest.param("'{\"lines\": [' + '9,' * 500_000 + '9]}'", id="long", marks=pytest.mark.slow),
    ],
)
def test_forged_results_are_rejected(tree: Path, place: ToolTree, forged: str) -> None:
    """Whatever stands in the files by which we are told."""
    code = f"""\
import glob, os

def forge():
    (out,) = glob.glob("/tmp/remora-proving-*/out")
    for name in ("0", "0-0", "0-late", "1", "done", "other"):
        with open(f"{{out}}/{{name}}.json", "w") as file:
            file.write({forged})

def f():
    forge()
    os._exit(0)
"""
    (tree / "mod.py").write_text(code)
    (tree / "test_mod.py").write_text("from mod import f\n\n\ndef test_f():\n    f()\n")
    assert results(place, "f()") == {}
    assert outcomes(place, "test_mod.py::test_f").of("test_mod.py::test_f") != "passed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("import pytest\npytest.raises = None\ndef f():\n    return 1\n", ""),
        (
            "import _pytest.runner\n_pytest.runner.call_and_report = None\ndef f():\n    return 1\n",
            "x",
        ),
        ("import os\ndef f():\n    os._exit(0)\n", "ends the process"),
        ("def f():\n    return 2\n", "assert 2 == 1"),
        ("import os\ndef f():\n    os.mkdir('made')\n    return 1\n", "os.mkdir"),
        ("import time\ndef f():\n    return 1 if time.time() < 1.8e9 else 2\n", "assert 2 == 1"),
    ],
)
def test_tests_that_do_not_count(tree: Path, place: ToolTree, body: str, why: str) -> None:
    (tree / "mod.py").write_text(body)
    (tree / "test_mod.py").write_text("from mod import f\n\n\ndef test_f():\n    assert f() == 1\n")
    problem = prove(place, "mod.py", "f", ["test_mod.py::test_f"]).problem
    assert bool(problem) == bool(why)
    assert why == "x" or why in problem


@pytest.mark.slow
def test_tests_that_are_not_there(tree: Path, place: ToolTree) -> None:
    (tree / "mod.py").write_text("def f():\n    return 1\n")
    (tree / "test_mod.py").write_text("def test_f():\n    assert True\n")
    assert "test_g" in prove(place, "mod.py", "f", ["test_mod.py::test_g"]).problem


@pytest.mark.slow
def test_a_file_whose_name_looks_like_an_option_is_run(tree: Path, place: ToolTree) -> None:
    (tree / "-d").mkdir()
    (tree / "-d" / "test_mod.py").write_text("def test_f():\n    assert True\n")
    assert outcomes(place, "-d/test_mod.py::test_f").of("-d/test_mod.py::test_f") == "passed"


def test_the_code_that_is_run_is_the_copy_s(tree: Path, place: ToolTree) -> None:
    """As where an editable installation leads back to the project."""
    project = tree.parent / "project"
    project.mkdir()
    (project / "other.py").write_text("VALUE = 1\n")
    code = f"import sys\nsys.path.insert(0, {str(project)!r})\nfrom other import VALUE\ndef f():\n    return VALUE\n"
    (tree / "mod.py").write_text(code)
    with pytest.raises(HostError, match="import of mod: ModuleNotFoundError"):
        results(place, "f()")


@pytest.mark.slow
def test_plugins_are_imported_once_for_all_runs(tree: Path, place: ToolTree) -> None:
    """Their import takes longer than many tests."""
    (tree / "plugin-1.dist-info").mkdir()
    (tree / "plugin-1.dist-info/METADATA").write_text("Name: plugin\nVersion: 1\n")
    (tree / "plugin-1.dist-info/entry_points.txt").write_text("[pytest11]\nplugin = plugin\n")
    (tree / "plugin.py").write_text("import os\nIMPORTED_IN = os.getpid()\n")
    code = "import os\nfrom plugin import IMPORTED_IN\n\n\ndef test_it():\n    assert IMPORTED_IN == os.getppid()\n"
    (tree / "test_mod.py").write_text(code)
    assert outcomes(place, "test_mod.py::test_it").of("test_mod.py::test_it") == "passed"


@pytest.mark.parametrize("activated", [False, True])
def test_pth_targets_are_readable_only_in_the_active_environment(
    tree: Path, tmp_path: Path, activated: bool
) -> None:
    """A project's configuration could name any environment, and with it what that one names."""
    need(2)
    named = tmp_path / "named"
    named.mkdir()
    (named / "value.py").write_text("VALUE = 1\n")
    packages = tmp_path / "venv" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "editable.pth").write_text(f"{named}\n")
    (tmp_path / "venv" / "pyvenv.cfg").write_text(
        f"home = {Path(sys.executable).resolve().parent}\n"
    )
    (tmp_path / "venv" / "bin").mkdir()
    executable = tmp_path / "venv" / "bin" / "python"
    executable.symlink_to(Path(sys.executable).resolve())
    python = ProjectPython(python=executable, root=tmp_path / "project", activated=activated)
    (tree / "mod.py").write_text("import value\n\n\ndef f():\n    return value.VALUE\n")
    if activated:
        assert results(ToolTree(tree, python), "f()") == {"f()": "1"}
    else:
        with pytest.raises(HostError, match="No module named 'value'"):
            results(ToolTree(tree, python), "f()")


def test_without_an_interpreter_nothing_is_run(tree: Path) -> None:
    (tree / "mod.py").write_text("def f():\n    return 1\n")
    with pytest.raises(HostError, match="is not permitted"):
        results(ToolTree(tree), "f()")


def test_below_level_two_only_with_consent(
    tree: Path, place: ToolTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "mod.py").write_text("def f():\n    return 1\n")
    monkeypatch.setattr("remora.sandbox.isolation.best_level", lambda: 1)
    with pytest.raises(HostError, match="isolation level 2 or consent"):
        results(place, "f()")


def test_a_module_is_imported_as_in_other_tests(tree: Path) -> None:
    (tree / "shop.py").write_text("class Cart: ...\n\n\ndef total(c): return 5\n")
    (tree / "test_other.py").write_text("import shop\n\n\ndef test_it():\n    assert shop\n")
    case = Case(call="total('a')", value="5")
    path = write_examples(ToolTree(tree), "shop.py", "total", [case])["path"]
    assert (
        (tree / path)
        .read_text()
        .endswith('\n\n\ndef test_total():\n    assert shop.total("a") == 5\n')
    )


def test_an_example_brings_its_imports(tree: Path) -> None:
    (tree / "shop.py").write_text("class Cart: ...\n\n\ndef total(c): return 5\n")
    case = Case(
        call="total(cart)", setup=("cart = Cart(sys)",), value="5",
        imports=("import sys", "from shop import Cart"),
    )  # fmt: skip
    path = write_examples(ToolTree(tree), "shop.py", "total", [case])["path"]
    assert (tree / path).read_text() == (
        "import sys\n\nfrom shop import Cart, total\n\n\ndef test_total():\n"
        "    cart = Cart(sys)\n    assert total(cart) == 5\n"
    )
