"""Search for tests named after a node, such as `test_foo`, `TestFoo` or all of `test_module.py`."""

import re
from collections.abc import Iterator

from remora.code.callgraph.files.program_protocol import Program
from remora.code.links import Tier
from remora.code.pytest_model.pytest_file import PytestFile, is_test_file
from remora.code.pytest_model.pytest_project import PytestProject
from remora.ids import MODULE, split_node_key

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


def tests_named_after(
    program: Program, project: PytestProject, key: str
) -> Iterator[tuple[PytestFile, str, Tier]]:
    """Yield the file, the qualname and the tier of each test that is named after a node.

    Tests outside `test_<module>.py` count only if they are all in one file. They are `possible` if
    the node's name has several definitions.
    """
    path, qualname = split_node_key(key)
    named_files = list(project.files_named_after(_module_name(path)))
    if qualname == MODULE:
        for file in named_files:
            for test in file.tests():
                yield file, test, "unique"
        return
    name = qualname.rpartition(".")[2].partition("#")[0]
    named_paths = {file.path for file in named_files}
    for named in (f"def test_{_snake(name)}", f"def Test{_camel(name)}"):
        paths = [p for p in program.mentioning(named) if is_test_file(p)]
        preferred = [p for p in paths if p in named_paths]
        for test_path in preferred or (paths if len(paths) == 1 else []):
            is_sure = test_path in named_paths or project.defines_once(name)
            for file, test in _tests_called(project.file(test_path), named.removeprefix("def ")):
                yield file, test, "unique" if is_sure else "possible"


def _tests_called(file: PytestFile | None, name: str) -> Iterator[tuple[PytestFile, str]]:
    for test in file.tests() if file is not None else ():
        parts = test.split(".")
        if file is not None and name in {part.partition("#")[0] for part in parts}:
            yield file, test


def _module_name(path: str) -> str:
    """Return `foo` for `pkg/foo.py`, and `pkg` for `pkg/__init__.py`."""
    folder, _, file = path.removesuffix(".py").rpartition("/")
    name = folder.rpartition("/")[2] if file == "__init__" else file
    return name.strip("_")


def _snake(name: str) -> str:
    return "_".join(word.lower() for word in _WORD.findall(name)) or name


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_") if word)
