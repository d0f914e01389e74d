"""The gates that a project has: its tests, imports, type checker, linters and formatters."""

import re
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from remora.code.pytest_model.pytest_settings import SETTINGS_FILES as PYTEST_FILES
from remora.code.pytest_model.pytest_settings import pytest_options
from remora.errors import HostError
from remora.judges.gates.code_gates import find_imports, pytest_gate
from remora.judges.gates.gate import Gate, Levels, problems
from remora.judges.gates.python_process import run_python
from remora.memory.events import GateResult
from remora.sandbox.interpreters import ProjectPython
from remora.statuses import TEST_GATE
from remora.tools.file_tree import FileTree
from remora.tools.host.declared_type_checker import (
    SETTINGS_FILES,
    ProjectChecker,
    declared_checker,
    find_checker,
    installed_version,
    settings_texts,
)
from remora.tools.host.ruff.config_files import oldest_minor
from remora.tools.host.ruff.rule_choice import DEFAULT, rule_choice, uses_flake8

_PROBLEM = re.compile(r"^.*\.pyi?\b.*$", re.MULTILINE)
"""A line about a file. Totals and other lines name none."""
_TRACEBACK = "Traceback (most recent call last)"
NOT_INSTALLED = "it is not installed in the project's environment"
_NEWEST = 15
"""The newest minor version of Python that ruff takes as a target (0.17)."""
_MISTAKES = (
    "ruff check --isolated --no-fix --no-cache --output-format=pylint --select={},F811 "
    "--target-version=py3{} ."
)
_REQUIRED = re.compile(
    r"(?m)\binstall\b(?:\\\n|[^\n&|;])*|^(?:deps|requires|\w+_requires?)\s*=.*(?:\n[ \t]+\S.*)*"
)
"""What is installed, in a command or in a setting of tox, runs nothing."""
_ONE_LINE = {"RUFF_OUTPUT_FORMAT": "concise"}
"""Lets `ruff format` print a line for each file. Versions before 0.12 do so, without an option."""


class StyleTool(NamedTuple):
    """A linter or formatter."""

    name: str
    """The name of its gate."""
    command: str
    """The command that checks a project, as a module of Python."""
    pattern: str
    """A pattern of its name in settings."""
    files: tuple[str, ...] = ()
    """The files at the root that configure nothing else."""
    ended: tuple[int, ...] = (0, 1)
    """The exit codes of a run that came to its end."""
    counted: str = ""
    """A pattern of the problems that count, if not all do."""

    @property
    def module(self) -> str:
        return self.command.partition(" ")[0]


STYLE_TOOLS = (
    StyleTool("flake8", "flake8 --format=default .", "flake8", (".flake8",)),
    # black returns 123 if a file does not parse
    StyleTool("black", "black --check .", "black", ended=(0, 1, 123)),
    StyleTool("isort", "isort --check-only .", "isort", (".isort.cfg",)),
    StyleTool(
        "ruff",
        "ruff check --no-fix --no-cache --output-format=pylint .",
        "ruff(?:-pre-commit)?",
        ("ruff.toml", ".ruff.toml"),
    ),
    StyleTool("ruff format", "ruff format --check --no-cache .", "ruff[-. ]format"),
)
_TY = StyleTool("ty", "ty check --output-format=concise --no-progress", "")
_RESULTS = "--ignore=all --error=invalid-explicit-return"
_CONTRADICTION = (
    r"expected `([^`@]+`, found `(bool|bytes|float|int|str|None|Literal\[[^`|]*\])\*?"
    r"|[a-z |]+`, found `(dict|list|set|tuple)\[[^`|]*\])`"
)
"""A plain result in place of another, such as `None` where a `Path` was promised.

Of 92 complaints about 17 packages, 8 are such, of which 7 are mistakes; the others are of taste.
"""


def find_gates(
    place: FileTree,
    files: Collection[str],
    python: ProjectPython | None,
    kept: Path | None = None,
    cpu: int | None = None,
) -> tuple[list[Gate], list[GateResult]]:
    """Return a project's gates, the fastest first, and what cannot be one.

    `files` are those of the project. Without `python`, no code of the project is run. `kept` is a
    folder for what a type checker may keep for other copies of the project, and `cpu` limits its
    processor time in seconds.
    """
    gates = [*_style_gates(place, python)]
    missing = list[GateResult]()
    declared = declared_checker(place)
    if declared is not None and declared.name == _TY.name and python is not None:
        gates.append(Gate(_TY.name, _TY.name, partial(_style_problems, _TY, [python])))
    elif declared is not None:
        settings = {path: place.files.read_bytes(path) for path in SETTINGS_FILES if path in files}
        checker = find_checker(declared, settings, python, files)
        if checker is None:
            missing.append(GateResult(name=declared.name, missing=NOT_INSTALLED))
        else:
            checker = checker._replace(cpu=cpu)
            gates.append(Gate(declared.name, checker.label, partial(_type_errors, checker, kept)))
    if python is None:
        return gates, missing
    gates.append(find_imports(files, python))
    folders = _folders_with_settings(place)
    if len(folders) > 1 and "" not in folders:
        text = f"several folders configure pytest: {', '.join(sorted(folders)[:3])}"
        missing.append(GateResult(name=TEST_GATE, missing=text))
    else:
        gates.append(pytest_gate(python))
    return gates, missing


def _folders_with_settings(place: FileTree) -> set[str]:
    """Return the folders that configure pytest, such as those of a monorepo."""
    return {
        path.rpartition("/")[0]
        for name, section in PYTEST_FILES.items()
        for path in place.files.glob(f"**/{name}", look=place.left)
        if pytest_options(place.text_or_empty(path), section) is not None
    }


def mistakes_gate(place: FileTree) -> Gate:
    """Return the gate for projects without ruff: undefined names, hidden tests, and syntax errors.

    Which names are undefined is left to flake8, if the project uses it.
    """
    own = ProjectPython(python=Path(sys.executable), root=place.tree, trusted=True)
    # what only this interpreter cannot parse is not a mistake of the project
    minor = max(sys.version_info.minor, min(oldest_minor(place) or 0, _NEWEST))
    command = _MISTAKES.format("E9" if uses_flake8(place) else "F82", minor)
    tool = StyleTool("ruff", command, "", counted=r"\[(?!F811)|`test_")
    return Gate("ruff", "ruff", partial(_style_problems, tool, [own]))


def results_gate(place: FileTree, paths: Iterable[str]) -> Gate | None:
    """Return the gate for projects without a type checker: results that contradict an annotation.

    It looks at some files. It is None if ty is not installed beside Remora.
    """
    if find_spec(_TY.module) is None:
        return None
    own = ProjectPython(python=Path(sys.executable), root=place.tree, trusted=True)
    tool = StyleTool(
        "results", f"{_TY.command} {_RESULTS} {shlex.join(paths)}", "", counted=_CONTRADICTION
    )
    return Gate(tool.name, _TY.name, partial(_style_problems, tool, [own]))


def _type_errors(
    checker: ProjectChecker, kept: Path | None, folder: Path, seconds: float, _: tuple[str, ...]
) -> Levels:
    diagnostics = checker.check(folder, seconds, kept)
    return problems(f"{d.path}:{d.line}: {d.rule} {d.message}" for d in diagnostics)


def _style_gates(place: FileTree, python: ProjectPython | None) -> Iterator[Gate]:
    """Yield the linters and formatters that a project names in its settings.

    Without an interpreter there is only ruff. It is Remora's own if the environment has none.
    """
    own = ProjectPython(python=Path(sys.executable), root=place.tree, trusted=True)
    settings = {path: _REQUIRED.sub("", text) for path, text in settings_texts(place)}
    texts = "\n".join(settings.values())
    for tool in STYLE_TOOLS:
        is_named = any(_is_used(tool, path, text) for path, text in settings.items())
        used = [python] if python else []
        used += [own] if tool.module == "ruff" else []
        if used and (is_named or any(map(place.files.exists, tool.files))):
            command = tool.command.removesuffix(".") + _checked_paths(tool, texts, place)
            if tool.name == "ruff" and not (python and installed_version(python.python, "ruff")):
                # Remora's own has rules that the pinned version lacks
                command += f" {shlex.join(rule_choice(place, '', (DEFAULT,)).options)}"
            fitting = tool._replace(command=command)
            yield Gate(tool.name, tool.name, partial(_style_problems, fitting, used))


def _is_used(tool: StyleTool, path: str, text: str) -> bool:
    """Return True if a file configures a tool or runs it. A requirement does neither."""
    section = rf"(?m)\btool\.{tool.pattern}\b|^\[(?:tool:)?{tool.pattern}\b"
    if path.endswith((".txt", "setup.cfg")):
        return path == "setup.cfg" and re.search(section, text) is not None
    if path == "pyproject.toml":  # scripts have more words than requirements
        section += rf"|[\"';&]\s*(?:python -m )?{tool.pattern} +[\w./-]"
    else:
        section += rf"|(?<![\w.-]){tool.pattern}(?![\w.-]|\s*[<>=~!]=)"
    return re.search(section, text) is not None


def _checked_paths(tool: StyleTool, texts: str, place: FileTree) -> str:
    """Return the folders that the project's own commands check, or `.` if a hook checks all files.

    With `flake8 shop` in CI, the tests keep no rule: so were 12 of 97 remarks on 47 commits wrong.
    """
    lines = re.findall(rf"(?<![\w.-]){tool.module} ([^\n&|;]*)", texts)
    words = {word.strip("\"',]/") for line in lines for word in line.split()}
    folders = [
        word for word in words if re.fullmatch(r"\w[\w/-]*", word) and place.files.is_folder(word)
    ]
    is_all = not folders or "." in words or f"id: {tool.module}" in texts
    return "." if is_all else shlex.join(sorted(folders))


def _style_problems(
    tool: StyleTool,
    pythons: Sequence[ProjectPython],
    folder: Path,
    seconds: float,
    _: tuple[str, ...],
) -> Levels:
    """Return the problems of all files in `folder`, by the first interpreter that can run the tool."""
    python, *others = pythons
    words = ("-I", "-m", *shlex.split(tool.command))
    environment = {**_ONE_LINE, "VIRTUAL_ENV": str(python.python.parent.parent)}
    finished = run_python(python, words, folder, seconds, environment=environment)
    finished.require_whole_output(tool.name)
    output, errors = (raw.decode("utf-8", "replace") for raw in (finished.stdout, finished.stderr))
    is_installed = f"No module named {tool.module}" not in errors
    has_ended = finished.timed_out or (is_installed and finished.returncode in tool.ended)
    if others and not has_ended:  # ruff before 0.1.1 does not know the options
        return _style_problems(tool, others, folder, seconds, _)
    if not is_installed:
        raise HostError(NOT_INSTALLED)
    lines = _PROBLEM.findall((output + errors).replace(f"{folder}/", ""))
    is_silent = finished.returncode == 1 and not lines and tool.module != "ruff"
    has_crashed = is_silent or _TRACEBACK in errors
    if finished.timed_out or has_crashed or finished.returncode not in tool.ended:
        last = errors.strip().rpartition("\n")[2][:200] or f"exit code {finished.returncode}"
        raise HostError("it did not finish" if finished.timed_out else last)
    return problems(line.removeprefix("./") for line in lines if re.search(tool.counted, line))
