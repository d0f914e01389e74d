"""Gates that run code of a project: its tests, as the project runs them, and its imports."""

import re
from collections.abc import Collection
from functools import partial
from pathlib import Path

import msgspec

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.errors import HostError
from remora.judges.gates.gate import Gate, Levels, SlowGateError, UnstartedError
from remora.judges.gates.python_process import run_python
from remora.rmtree import temporary_folder
from remora.sandbox.interpreters import ProjectPython
from remora.statuses import TEST_GATE
from remora.text import clip_words
from remora.tools.host.module_names import SOURCE_ROOTS, module_name
from remora.workspaces.rooted_files import RootedFiles

_RESULT, _PLUGIN = "result.json", "remora_outcomes"
_NO_TESTS = 5
"""The exit code of pytest if it finds no tests."""
_SKIPPED, _RAN = 1, 2
_FAILS, _UNCOLLECTED = " fails", " cannot be collected"
_LIMIT = 256 * 1024 * 1024
_LONGEST_ERROR = 300
"""Characters of an error that are shown (decision)."""
_NOISE = re.compile(r"(?m) at 0x[0-9a-f]+|^ *(\?|Use -v) .*")
_Outcomes = tuple[dict[str, str], list[str], dict[str, str]]
_WORDS = ("-q", "--tb=no", "--continue-on-collection-errors", "--rootdir=.")
_OUTCOMES = """\
import json
import os

# isolation alone makes a test that fetches a page fail, with "gaierror: Temporary failure in name
# resolution": without these words, 1 of 97 remarks on 47 commits was wrong
OFFLINE = "gaierror", "ame resolution", "resolve host", "Network is unreachable", "Read-only file"


class Outcomes:
    def __init__(self):
        self.tests, self.uncollected, self.errors, self.process = {}, [], {}, os.getpid()

    def pytest_collectreport(self, report):
        if report.failed:
            self.uncollected.append(report.nodeid)
            self.errors[report.nodeid] = str(report.longrepr).rpartition("E  ")[2][:2000]

    def pytest_runtest_logreport(self, report):
        is_offline = any(words in str(report.longrepr) for words in OFFLINE)
        outcome = "skipped" if is_offline else report.outcome  # isolation alone makes it fail
        is_worse = outcome != "passed" and self.tests.get(report.nodeid) != "failed"
        if report.when == "setup" or is_worse:
            self.tests[report.nodeid] = outcome
            crash = getattr(report.longrepr, "reprcrash", None)
            self.errors[report.nodeid] = str(getattr(crash, "message", ""))[:2000]

    def pytest_sessionfinish(self):
        if os.getpid() == self.process:
            with open(os.environ["REMORA_OUTCOMES"], "w") as file:
                json.dump([self.tests, self.uncollected, self.errors], file)


def pytest_collection_modifyitems(items):
    only = {path for path in ONLY if "::" in path}
    items[:] = [item for item in items if not only or item.nodeid.partition("[")[0] in only]


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # a worker of xdist
        config.pluginmanager.register(Outcomes())
"""
_SETTINGS = ("rootdir:", "inifile:", "configfile:")  # lines that may follow pytest's error
_IMPORT_SECONDS, _MODULE_SECONDS = 60.0, 10.0
_IMPORTS = f"""\
import sys
del sys.path[0]  # the current folder may have a file such as json.py
import importlib, json, os, signal
sys.path[:0] = [".", *{SOURCE_ROOTS!r}]
seconds, names = float(sys.argv[2]), sys.argv[3:]
own = {{name.partition(".")[0] for name in names}}

def stop(*_):
    raise TimeoutError

def load(names):
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException:
            pass
    return [name for name in sys.modules if name.partition(".")[0] not in own]

def apart(work, names):
    read, write = os.pipe()
    if not os.fork():
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
        try:
            os.write(write, json.dumps(work(names)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as answer:
        return json.loads(answer.read() or "null")

signal.signal(signal.SIGALRM, stop)
load(apart(load, names) or ())  # what modules of others need is loaded once
failed = [name for name in names if not apart(lambda name: bool(importlib.import_module(name)), name)]
with open(sys.argv[1], "x") as result:
    json.dump(failed, result)
"""
"""Imports each module in a process of its own: one of a circle may be imported only after another.

One that serves or asks when it is imported is stopped after a time (decision).
"""


class FailedText(str):
    """Name of a failure. Its error may differ from run to run."""

    error = ""


def with_error(text: str, more: str) -> str:
    """Return what is worse, how much more is, and the error of a failure."""
    error = text.error if isinstance(text, FailedText) else ""
    return f"{text}{more}{error and ': '}{error}"


def pytest_gate(python: ProjectPython) -> Gate:
    """Return the gate of a project's tests."""
    return Gate(TEST_GATE, TEST_GATE, partial(run_tests, python), runs_code=True)


def failing(facts: Levels) -> list[str]:
    """Return the tests that fail."""
    return [what.removesuffix(_FAILS) for what in facts if what.endswith(_FAILS)]


def any_passes(facts: Levels) -> bool:
    """Return True if at least one test passes."""
    return [*facts.values()].count(_RAN) > len(failing(facts))


def test_file(fact: str) -> str:
    """Return the file that a fact about a test names, or an empty string for other facts."""
    if "::" in fact or fact.endswith(_UNCOLLECTED):
        return fact.removesuffix(_UNCOLLECTED).partition("::")[0]
    return ""


def run_tests(
    python: ProjectPython,
    folder: Path,
    seconds: float,
    files: tuple[str, ...],
    plugin: tuple[str, Path] | None = None,
) -> Levels:
    """Run the tests, with a `plugin` of a name from a folder, into which it may write.

    Of the given `files`, those that exist are run, or only some tests of them: `path::test`.
    """
    paths = dict.fromkeys(f"./{path.partition('::')[0]}" for path in files)
    present = [path for path in paths if (folder / path).is_file()]
    if files and not present:
        return {}
    with temporary_folder("tests-") as own:
        name, out = plugin or ("", own)
        words = (*_WORDS, "-p", name) if name else _WORDS
        (out / f"{_PLUGIN}.py").write_text(_OUTCOMES.replace("ONLY", repr(files)))
        roots = [folder / name for name in SOURCE_ROOTS if (folder / name).is_dir()]
        finished = run_python(
            python,
            ("-B", "-m", "pytest", "-p", _PLUGIN, *words, *present),
            folder,
            seconds,
            (out,),
            {
                "PYTHONPATH": ":".join(map(str, [folder, *roots, out])),
                "PYTHONHASHSEED": "0",
                "REMORA_OUTCOMES": str(out / _RESULT),
            },
        )
        if finished.timed_out:
            raise SlowGateError(f"the tests take longer than {seconds:.0f} seconds")
        if finished.returncode == _NO_TESTS and not files:
            raise HostError("pytest finds no tests")
        try:
            content = RootedFiles(out).read_bytes(_RESULT, limit=_LIMIT)
            outcomes = msgspec.json.decode(content, type=_Outcomes)
        except (HostError, msgspec.DecodeError):
            text = (finished.stderr or finished.stdout).decode("utf-8", "replace")
            lines = map(str.strip, text.replace(f"{folder}/", "").splitlines())
            said = [line for line in lines if line and not line.startswith(_SETTINGS)]
            told = sorted(said, key=lambda line: "error" in line.lower())
            told = told or [f"exit code {finished.returncode}"]
            is_missing = "No module named pytest" in text
            hint = f"run `{python.python} -m {'pip install pytest' if is_missing else 'pytest'}`"
            why = f"pytest does not run to its end: {told[-1][:200]}"
            raise UnstartedError(why, hint=hint) from None
    return _levels(outcomes, f"{folder}/")


def _levels(outcomes: _Outcomes, folder: str) -> Levels:
    tests, broken, errors = outcomes
    levels = {test: _SKIPPED if how == "skipped" else _RAN for test, how in tests.items()}
    failed = [(test, _FAILS) for test, how in tests.items() if how == "failed"]
    for what, how in (*failed, *((path, _UNCOLLECTED) for path in broken)):
        lines = _NOISE.sub("", errors.get(what, "").replace(folder, "")).splitlines()
        text = "; ".join(" ".join(line.split()) for line in lines if line.strip())
        failure = FailedText(what + how)
        failure.error = clip_words(text, _LONGEST_ERROR)
        levels[failure] = -1
    return levels


def find_imports(files: Collection[str], python: ProjectPython) -> Gate:
    """Return the gate of the modules among some files, without the tests."""
    modules = {}
    for path in sorted(files):
        folder = path.rpartition("/")[0]
        is_packaged = f"{folder}/__init__.py" in files or folder in ("", *SOURCE_ROOTS)
        if path.endswith(".py") and is_packaged and not is_of_tests(path) and module_name(path):
            modules[module_name(path)] = path

    def measure(folder: Path, seconds: float, _: tuple[str, ...]) -> Levels:
        with temporary_folder("imports-") as out:
            words = ("-B", "-c", _IMPORTS, str(out / _RESULT), str(_MODULE_SECONDS))
            run_python(python, (*words, *modules), folder, min(_IMPORT_SECONDS, seconds), (out,))
            try:
                failed = msgspec.json.decode(RootedFiles(out).read_bytes(_RESULT), type=list[str])
            except (HostError, msgspec.DecodeError):
                raise HostError("the modules could not be imported") from None
        if len(failed) == len(modules):
            raise HostError("no module can be imported")
        return {f"{modules[name]} can no longer be imported": -1 for name in failed}

    return Gate("imports", "imports", measure, runs_code=True)
