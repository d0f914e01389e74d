"""Host function that shows a model a function, and what it needs to know to write tests of it."""

import ast
from collections.abc import Iterator
from typing import Any

from remora.code.edit.import_edits import Imported
from remora.code.edit.name_binding import importable_names
from remora.code.edit.text_lines import decode, split_lines
from remora.code.pytest_model.test_functions import tests_of
from remora.code.pytest_model.used_names import used_names
from remora.code.syntax.definitions import FunctionNode, find_definitions, first_line
from remora.code.syntax.source import Source, read_source
from remora.code.syntax.used_definitions import lines_used_by
from remora.errors import HostError
from remora.judges.calls.project_examples import ProjectExamples
from remora.judges.calls.target_function import TargetFunction, class_named, require_target
from remora.judges.faults.mutants import mutants
from remora.judges.tests.tested_names import test_files
from remora.operations.test.host_model_tests import surviving_faults, tests_reaching
from remora.operations.test.insert.test_file import module_import
from remora.operations.test.insert_location import InsertLocation
from remora.operations.test.test_home import home_of
from remora.tools.host.text_files import show_lines
from remora.tools.tree import ToolTree

_MOST_CALLS = 3
_MOST_FAULTS = 12
_MOST_FIXTURES = 12
_LONGEST_TEST = 480
"""Number of characters of a test that is shown as an example."""


def show_function(place: ToolTree, path: str, node: str, is_target: bool) -> dict[str, Any]:
    """Return what a packet shows of a function or class of a file, as `view`, and a `summary`.

    The excerpt in `view` also has the beginnings of what the function uses in its file. If
    `is_target` is true, `view` also has the planted faults that no test detects, and facts: how the
    function is called, how objects of its class and of its arguments are made, and an existing
    test, the fixtures and the imports of the project. If there is no such function, or it cannot be
    examined, the result contains only the reason, in `problem`.
    """
    try:
        excerpt, summary = _excerpt(place, path, node)
        if not is_target:
            return {
                "summary": summary,
                "view": {"excerpt": excerpt, "state_summary": f"{node} was read"},
            }
        faults, facts = _needed(place, path, node)
    except HostError as error:
        return {"problem": error.message}
    view = {
        "excerpt": excerpt,
        "state_summary": f"{node} is to be tested",
        "diagnostics": [f"no test detects: {fault}" for fault in faults],
        "knowledge_delta": facts,
    }
    return {
        "summary": f"{summary}; {len(faults)} planted faults that no test detects",
        "view": view,
    }


def _excerpt(place: ToolTree, path: str, name: str) -> tuple[dict[str, Any], str]:
    """Return an excerpt of the function and of what it uses, and the function's lines in words."""
    source = read_source(path, place.read(path))
    if not isinstance(source, Source):
        raise HostError(f"{path}: {source.detail}")
    found = {node.qualname: node.node for node in find_definitions(source.tree, "")}
    if name not in found:
        raise HostError(f"{path} has no {name}; it has {', '.join(found)}")
    first, last = first_line(found[name]), found[name].end_lineno or 0
    places = [[first, last], *lines_used_by(source.tree, found[name])]
    excerpt = show_lines(place, path, places, first) | {"ref": name}
    return excerpt, f"{name}, lines {first}-{last}"


def _needed(place: ToolTree, path: str, node: str) -> tuple[list[str], dict[str, str]]:
    subject = require_target(place, path, node)
    examples = ProjectExamples(place)
    faults = mutants(place.read(path), node)
    alive = surviving_faults(place, subject, tests_reaching(place, subject), faults)
    home = home_of(place, subject, test_files(place))
    calls = dict.fromkeys(example.call for example in examples.calls_of(subject))
    facts = {
        f"calls of {node}": "; ".join([*calls][:_MOST_CALLS]),
        "made by": "; ".join(_constructors(place, subject, examples)),
        "an existing test": _existing_test(place, home, examples),
        "form of the tests": "methods of unittest classes" if home.unittest else "",
        "fixtures": ", ".join(_fixtures(home, examples)),
        "import in tests": _import(place, home, subject).statement(),
    }
    shown = [fault.description for fault in alive[:_MOST_FAULTS]]
    return shown, {key: text for key, text in facts.items() if text}


def _import(place: ToolTree, home: InsertLocation, subject: TargetFunction) -> Imported:
    named = Imported(home.imports_from, subject.name, subject.name)
    return module_import(place, home) if home.alias else named


def _constructors(
    place: ToolTree, subject: TargetFunction, examples: ProjectExamples
) -> Iterator[str]:
    """Yield how objects of the function's class, and of the classes in annotations, are made."""
    given = subject.function.args
    parameters = (*given.args, *given.kwonlyargs)
    annotations = [parameter.annotation for parameter in parameters if parameter.annotation]
    owner = [subject.owner.name] if subject.owner is not None else []
    names = [
        *owner,
        *sorted({name for annotation in annotations for name in used_names(annotation)}),
    ]
    for name in names:
        found = _class(place, subject, examples, name)
        if found is not None and (text := _constructor(found)):
            yield text


def _class(
    place: ToolTree, subject: TargetFunction, examples: ProjectExamples, name: str
) -> ast.ClassDef | None:
    """Return a class that the function's module defines, or imports from the project."""
    tree = subject.source.tree
    is_package = subject.path.endswith("__init__.py")
    known = importable_names(tree, subject.module, is_package=is_package).get(name)
    if known is None or known.module == subject.module:
        return class_named(tree, name)
    start = "/".join(filter(None, (subject.import_root, *known.module.split("."))))
    path = next(filter(place.files.exists, (f"{start}.py", f"{start}/__init__.py")), "")
    other = examples.tree(path) if path else None
    return class_named(other, known.name) if other is not None else None


def _constructor(owner: ast.ClassDef) -> str:
    """Return how an object is made, such as `Cart(owner, size=3)`, or an empty string."""
    for statement in owner.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            return f"{owner.name}({ast.unparse(statement.args).partition(',')[2].strip()})"
    fields = [ast.unparse(field) for field in owner.body if isinstance(field, ast.AnnAssign)]
    return f"{owner.name}({', '.join(fields)})" if fields else ""


def _existing_test(place: ToolTree, home: InsertLocation, examples: ProjectExamples) -> str:
    """Return the shortest test in the file of new tests, or else in the nearest other file."""
    folder = home.path.rpartition("/")[0]
    near = sorted(
        test_files(place), key=lambda path: (path != home.path, not path.startswith(folder))
    )
    for path in near:
        tree = examples.tree(path)
        lines = split_lines(decode(path, place.read(path)).body)
        texts = [
            "\n".join(lines[first_line(test) - 1 : test.end_lineno])
            for test in (tests_of(tree).values() if tree is not None else ())
        ]
        if texts and len(shortest := min(texts, key=len)) <= _LONGEST_TEST:
            return shortest
    return ""


def _fixtures(home: InsertLocation, examples: ProjectExamples) -> list[str]:
    """Return the names of the fixtures that tests in a file can use, those of pytest left out."""
    folders = home.path.split("/")[:-1]
    paths = ["/".join((*folders[:depth], "conftest.py")) for depth in range(len(folders) + 1)]
    trees = [examples.tree(path) for path in (*paths, home.path)]
    found = [
        function.name
        for tree in trees
        for function in (tree.body if tree is not None else ())
        if isinstance(function, FunctionNode)
        and any("fixture" in used_names(decorator) for decorator in function.decorator_list)
    ]
    return found[-_MOST_FIXTURES:]
