"""Whether a project's own checks say the same after `analyze` with all operations and `accept --all`.

    python bench/nothing_broken.py ~/src/khal ~/src/lark

Each folder is a git repository without changes whose `.venv` has the project (installed with `-e`), pytest, the project's build backend and the tools that the project configures. Its tests, type checker, linters, formatters, the import of each module in a process of its own and the build of its wheel run twice before and once after. This file has its own runners, apart from Remora's gates, so that one mistake is not in both. At the end the folder is as it was.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

OPERATIONS = ("lint", "docstring", "test", "types")
SECONDS = 900

Facts = Mapping[str, int]
"""What a check says, and how often, such as `passed tests/a.py::test_x` or `a.py: F401 ...`."""

_PLUGIN = """\
import json, os
outcomes = {}
def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        outcomes[report.nodeid] = report.outcome
def pytest_collection_finish(session):
    for item in session.items:
        outcomes.setdefault(item.nodeid, "collected")
def pytest_sessionfinish():
    with open(os.environ["OUTCOMES"], "w") as file:
        json.dump(outcomes, file)
"""
_PLACE = re.compile(r"(:\d+)+(?=:|$)")
_DIFF = re.compile(r"\s*(\d+\s*)?[|+-] ")
"""A line of the diffs with which newer versions of ruff say what is not formatted."""
_SETTINGS = (
    *("pyproject.toml", "setup.cfg", "tox.ini", "mypy.ini", ".flake8", ".isort.cfg", "ruff.toml"),
    *(".ruff.toml", ".pre-commit-config.yaml", "pyrightconfig.json"),
)


@dataclass
class Result:
    """What was proposed and written in a project, what got worse, and the seconds of each step."""

    project: str
    checks: list[str] = field(default_factory=list)
    proposals: int = 0
    taken_out: list[str] = field(default_factory=list)
    changed: int = 0
    proof: str = ""
    tests: int = 0
    worse: dict[str, list[str]] = field(default_factory=dict)
    unstable: dict[str, int] = field(default_factory=dict)
    not_judged: list[str] = field(default_factory=list)
    commands_s: float = 0
    gates_s: float = 0
    run_s: float = 0
    error: str = ""


def run(
    command: Sequence[str | Path], root: Path, *, seconds: float = SECONDS, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of a project, in its environment."""
    kept = {k: v for k, v in os.environ.items() if k not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    path = f"{root / '.venv' / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        list(map(str, command)),
        cwd=root,
        env={**kept, "PATH": path, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", **extra},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def tests(root: Path) -> Facts:
    """The outcome of each test, as the project runs them."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "outcomes_plugin.py").write_text(_PLUGIN)
        out = Path(folder) / "out.json"
        command: list[str | Path] = [root / ".venv/bin/python", "-m", "pytest", "-q", "--tb=no"]
        command += ["-p", "outcomes_plugin", "-p", "no:cacheprovider"]
        run(command, root, PYTHONPATH=folder, OUTCOMES=str(out))
        outcomes = json.loads(out.read_text()) if out.exists() else {}
    return {f"{outcome} {test}": 1 for test, outcome in outcomes.items()}


def imports(root: Path) -> Facts:
    """The modules that can be imported first in a process."""
    listed = run(["git", "ls-files", "--cached", "*.py"], root).stdout.split()
    top = {path.removesuffix("/__init__.py") for path in listed if path.endswith("/__init__.py")}
    names = []
    for path in listed:
        folder = path.rpartition("/")[0]
        if folder in top and "test" not in path and not path.endswith("__main__.py"):
            name = path.removesuffix(".py").removesuffix("/__init__").removeprefix("src/")
            names.append(name.replace("/", "."))
    python = root / ".venv/bin/python"
    done = {name: run([python, "-c", f"import {name}"], root).returncode for name in names}
    return {f"imports {name}": 1 for name, code in done.items() if not code}


def wheel(root: Path) -> Facts:
    """The files in the wheel, and the lines of its metadata. Nothing if it is not built."""
    with TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        run(["git", "checkout-index", "--all", f"--prefix={tree}/"], root)
        for words in ("init", "-q"), ("add", "--all"):  # builders may ask git for the files
            run(["git", *words], tree)
        options = "-q", "--no-deps", "--no-build-isolation", "-w", folder
        command = root / ".venv/bin/python", "-m", "pip", "wheel", *options, "."
        run(command, tree, SETUPTOOLS_SCM_PRETEND_VERSION="1")
        for path in Path(folder).glob("*.whl"):
            with ZipFile(path) as file:
                names = [name for name in file.namelist() if not name.endswith("/RECORD")]
                texts = (file.read(name).decode() for name in names if ".dist-info/" in name)
                return Counter([*names, *(line for text in texts for line in text.splitlines())])
    return {}


def diagnostics(*command: str) -> Callable[[Path], Facts]:
    """A checker whose lines say `path:line: message`; the lines' numbers do not count."""

    def check(root: Path) -> Facts:
        done = run([root / ".venv/bin/python", "-m", *command], root)
        lines = (done.stdout + done.stderr).splitlines()
        said = (
            _PLACE.sub("", line).replace(f"{root}/", "").strip()
            for line in lines
            if re.search(r"\.pyi?\b", line) and ": note:" not in line and not _DIFF.match(line)
        )
        return Counter(said)

    return check


def checks_of(root: Path) -> Iterator[tuple[str, Callable[[Path], Facts]]]:
    """Yield the checks that a project has: what its settings name, and its environment has."""
    text = "".join((root / name).read_text() for name in _SETTINGS if (root / name).exists())
    text = re.sub(r"#.*", "", text)
    yield "tests", tests
    yield "imports", imports
    yield "wheel", wheel
    packages = sorted(
        path.parent.relative_to(root).as_posix()
        for pattern in ("*/__init__.py", "src/*/__init__.py")
        for path in root.glob(pattern)
        if not re.search(r"test|doc|example", path.parent.name)
    )
    commands = {
        "mypy": ("mypy",)
        if re.search(r"^\s*(files|packages)\s*=", text, re.MULTILINE)
        else ("mypy", *packages),
        "pyright": ("pyright",),
        "flake8": ("flake8", "."),
        "black": ("black", "--check", "."),
        "isort": ("isort", "--check-only", "."),
        "ruff": ("ruff", "check", "--no-cache", "--output-format=concise", "."),
    }
    if re.search(r"ruff[- ]format|tool\.ruff\.format", text):
        commands["ruff format"] = ("ruff", "format", "--no-cache", "--check", ".")
    for name, command in commands.items():
        declared = re.search(rf"(?<![\w-]){command[0]}(?![\w-])", text)
        installed = list((root / ".venv").glob(f"lib/python*/site-packages/{command[0]}"))
        if declared and installed:
            yield name, diagnostics(*command)


def worse(before: Facts, after: Facts, name: str) -> list[str]:
    """Return what is gone of what was good, or new of what is bad."""
    lost, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    if name in {"tests", "imports"}:
        bad_new = [what for what in new if what.startswith(("failed", "error"))]
        return sorted({*(w for w in lost if not w.startswith("failed")), *bad_new})
    return sorted([*new, *(f"gone: {what}" for what in lost if name == "wheel")])


class Project:
    """A project with its checks, and what they say before the changes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.checks = dict(checks_of(root))
        self.result = Result(root.name, list(self.checks))
        self._base: dict[str, Facts] = {}

    def measure_base(self) -> None:
        """Run each check twice. What differs between the runs is not compared later."""
        for name in self.checks:
            first, second = self._run(name), self._run(name)
            differing = {w for w in {**first, **second} if first.get(w) != second.get(w)}
            if differing:
                self.result.unstable[name] = len(differing)
            self._base[name] = {what: n for what, n in first.items() if what not in differing}
        self.result.tests = len(self._base["tests"])

    def change(self, remora: Path, options: Sequence[str]) -> bool:
        """Analyze with all operations and accept all. Return False if that fails."""
        result, begin = self.result, time.perf_counter()
        asked = [part for operation in OPERATIONS for part in ("-o", operation)]
        command: list[str | Path] = [remora, "analyze", *asked, *options, "--yes", "--json"]
        analyzed = run(command, self.root, seconds=3600)
        result.run_s = time.perf_counter() - begin
        try:
            _read(json.loads(analyzed.stdout), result)
        except json.JSONDecodeError:
            result.error = (analyzed.stderr or analyzed.stdout)[-300:]
            return False
        words = "accept", "last", "--all", "--untested", "--json"
        accepted = run([remora, *words], self.root, seconds=1800)
        if accepted.returncode not in {0, 1}:
            result.error = accepted.stderr[-300:]
        run(["git", "add", "--all"], self.root)  # what stays after each check
        changed = run(["git", "diff", "--cached", "--name-only"], self.root)
        result.changed = len(changed.stdout.splitlines())
        return True

    def compare(self) -> None:
        """Run each check again, and twice if something is worse."""
        for name, base in self._base.items():
            found = worse(base, self._run(name), name)
            if found:
                again = worse(base, self._run(name), name)
                found = [what for what in found if what in again]
            if found:
                self.result.worse[name] = found

    def clean(self) -> None:
        """Bring the folder back to its commit."""
        run(["git", "reset", "-q", "--hard"], self.root)
        run(["git", "clean", "-fdq"], self.root)

    def _run(self, name: str) -> Facts:
        begin = time.perf_counter()
        said = self.checks[name](self.root)
        self.result.commands_s += time.perf_counter() - begin
        run(["git", "checkout", "-q", "--", "."], self.root)  # what the check wrote
        run(["git", "clean", "-fdq"], self.root)
        return said


def _read(document: Mapping[str, Any], result: Result) -> None:
    """Keep what a run's document says of its proposals and gates."""
    jobs = document["jobs"]
    result.proposals = sum(bool(job["files_changed"]) for job in jobs)
    result.taken_out = [
        reason for job in jobs for reason in job["reasons"] if reason.startswith("taken out")
    ]
    gates = document["totals"].get("gates")
    if gates:
        result.gates_s, result.proof = gates["seconds"], gates["proof"]
        result.not_judged = [
            f"{gate['name']}: {gate['missing']}" for gate in gates["results"] if gate.get("missing")
        ]


def main() -> None:
    """Measure the folders that are given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--remora", type=Path, default=Path(sys.executable).with_name("remora"))
    parser.add_argument("--save", type=Path, help="append the results as JSON lines to this file")
    parser.add_argument(
        "--keep", action="store_true", help="leave what was accepted in the folders"
    )
    parser.add_argument("--option", action="append", default=[], help="an option of `analyze`")
    given = parser.parse_args()
    for folder in given.folders:
        project = Project(folder.resolve())
        assert not run(["git", "status", "--porcelain"], folder).stdout, f"{folder} has changes"
        project.measure_base()
        project.clean()
        if project.change(given.remora.absolute(), given.option):
            project.compare()
        if not given.keep:
            project.clean()
        result = project.result
        print(json.dumps(asdict(result)), flush=True)
        if given.save:
            with given.save.open("a") as file:
                file.write(json.dumps(asdict(result)) + "\n")


if __name__ == "__main__":
    main()
