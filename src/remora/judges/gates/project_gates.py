"""The gates that a project has: its tests, imports, type checker, linters and formatters."""

import re
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from remora.errors import HostError
from remora.judges.gates.code_gates import find_imports, pytest_gate
from remora.judges.gates.gate import Facts, Gate, problems, run_python
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
from remora.tools.host.pytest_settings import configured_folders
from remora.tools.host.ruff.rule_choice import uses_flake8

_ENDED = (0, 1, 123)
"""Exit codes of a run that came to its end. Black returns 123 if a file does not parse."""
_PROBLEM = re.compile(r"^.*\.pyi?\b.*$", re.MULTILINE)
"""A line about a file. Totals and other lines name none."""
_TRACEBACK = "Traceback (most recent call last)"
NOT_INSTALLED = "it is not installed in the project's environment"
_COMMANDS = {
    "flake8": "flake8 --format=default .",
    "black": "black --check .",
    "isort": "isort --check-only .",
    "ruff": "ruff check --no-fix --no-cache --output-format=pylint .",
    "ruff format": "ruff format --check --no-cache .",
}
_MISTAKES = (
    "ruff check --isolated --no-fix --no-cache --output-format=pylint --select={} "
    f"--target-version=py3{sys.version_info.minor} ."
)
"""Newer syntax than that of this interpreter is an error to Remora, too."""
_ONE_LINE = {"RUFF_OUTPUT_FORMAT": "concise"}
"""Lets `ruff format` print a line for each file. Versions before 0.12 do so, without an option."""
_NAMES = {"ruff": "ruff(?:-pre-commit)?", "ruff format": "ruff[-. ]format"}
"""Patterns of the names of these in settings, where they differ."""
_FILES = {"flake8": [".flake8"], "isort": [".isort.cfg"], "ruff": ["ruff.toml", ".ruff.toml"]}


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
    if declared is not None:
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
    folders = configured_folders(place)
    if len(folders) > 1 and "" not in folders:
        several = ", ".join(sorted(folders)[:3])
        text = f"several folders configure pytest: {several}"
        missing.append(GateResult(name=TEST_GATE, missing=text))
    else:
        gates.append(pytest_gate(python))
    return gates, missing


def mistakes_gate(place: FileTree) -> Gate:
    """Return the gate for projects without ruff: files that do not parse, and undefined names.

    Which names are undefined is left to flake8, if the project uses it.
    """
    own = ProjectPython(python=Path(sys.executable), root=place.tree, trusted=True)
    words = _MISTAKES.format("E9" if uses_flake8(place) else "F82").split()
    return Gate("ruff", "ruff", partial(_style_problems, words, [own]))


def is_installed(gate: Gate, python: ProjectPython | None) -> bool:
    """Return True unless a linter or formatter is missing in a project's environment."""
    name = _COMMANDS.get(gate.name, "ruff").partition(" ")[0]
    return name == "ruff" or python is None or bool(installed_version(python.python, name))


def _type_errors(
    checker: ProjectChecker, kept: Path | None, folder: Path, seconds: float, _: tuple[str, ...]
) -> Facts:
    found = checker.check(folder, seconds, kept)
    return problems(f"{each.path}:{each.line}: {each.rule} {each.message}" for each in found)


def _style_gates(place: FileTree, python: ProjectPython | None) -> Iterator[Gate]:
    """Yield the linters and formatters that a project names in its settings.

    Without an interpreter there is only ruff. It is Remora's own if the environment has none.
    """
    own = ProjectPython(python=Path(sys.executable), root=place.tree, trusted=True)
    texts = "\n".join(text for _, text in settings_texts(place))
    for name, command in _COMMANDS.items():
        word = _NAMES.get(name, name)
        is_named = re.search(rf"\btool\.{word}\b|(?<![\w.-]){word}(?![\w.-])", texts)
        used = [python] if python else []
        used += [own] if command.startswith("ruff") else []
        if used and (is_named or any(map(place.files.exists, _FILES.get(name, ())))):
            yield Gate(name, name, partial(_style_problems, command.split(), used))


def _style_problems(
    words: list[str],
    pythons: Sequence[ProjectPython],
    folder: Path,
    seconds: float,
    _: tuple[str, ...],
) -> Facts:
    """Return the problems of all files in `folder`, by the first interpreter that can run the tool."""
    python, *others = pythons
    finished = run_python(python, ("-I", "-m", *words), folder, seconds, environment=_ONE_LINE)
    output, errors = (
        text.decode("utf-8", "replace") for text in (finished.stdout, finished.stderr)
    )
    is_installed = f"No module named {words[0]}" not in errors
    has_ended = finished.timed_out or (is_installed and finished.returncode in _ENDED)
    if others and not has_ended:  # ruff before 0.1.1 does not know the options
        return _style_problems(words, others, folder, seconds, _)
    if not is_installed:
        raise HostError(NOT_INSTALLED)
    lines = _PROBLEM.findall((output + errors).replace(f"{folder}/", ""))
    has_crashed = _TRACEBACK in errors or (finished.returncode == 1 and not lines)
    if finished.timed_out or has_crashed or finished.returncode not in _ENDED:
        last = errors.strip().rpartition("\n")[2][:200] or f"exit code {finished.returncode}"
        raise HostError("it did not finish" if finished.timed_out else last)
    return problems(line.removeprefix("./") for line in lines)
