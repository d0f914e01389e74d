"""Tests that are called like a node: `test_foo`, `TestFoo`, or all of `test_module.py`."""

import re
from collections.abc import Iterator

from remora.code.callgraph.files.program_protocol import Program
from remora.code.pytest_model.pytest_file import PytestFile, is_test_file
from remora.code.pytest_model.pytest_project import PytestProject
from remora.ids import MODULE, split_node_key

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


def tests_named_after(
    program: Program, suites: PytestProject, key: str
) -> Iterator[tuple[PytestFile, str]]:
    """Their files and qualnames: those in files that are named after the node's module, else the
    only ones of that name."""
    path, qualname = split_node_key(key)
    beside = list(suites.named_after(_module_name(path)))
    if qualname == MODULE:
        for suite in beside:
            for test in suite.tests():
                yield suite, test
        return
    name = qualname.rpartition(".")[2].partition("#")[0]
    near = {suite.path for suite in beside}
    for named in (f"def test_{_snake(name)}", f"def Test{_camel(name)}"):
        files = [p for p in program.mentioning(named) if is_test_file(p)]
        near_files = [p for p in files if p in near]
        for file in near_files or (files if len(files) == 1 else []):
            yield from _named(suites.at(file), named.removeprefix("def "))


def _named(suite: PytestFile | None, name: str) -> Iterator[tuple[PytestFile, str]]:
    for test in suite.tests() if suite is not None else ():
        parts = test.split(".")
        if suite is not None and name in {part.partition("#")[0] for part in parts}:
            yield suite, test


def _module_name(path: str) -> str:
    """`foo` of `pkg/foo.py`, `pkg` of `pkg/__init__.py`."""
    folder, _, file = path.removesuffix(".py").rpartition("/")
    name = folder.rpartition("/")[2] if file == "__init__" else file
    return name.strip("_")


def _snake(name: str) -> str:
    return "_".join(word.lower() for word in _WORD.findall(name)) or name


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_") if word)
