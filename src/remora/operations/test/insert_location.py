"""Location and style of a new test, based on the project's existing tests."""

import ast
import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from remora.code.edit.import_edits import Imported, relative_module
from remora.code.edit.text_lines import split_lines
from remora.code.syntax.definitions import DefinitionNode
from remora.code.syntax.source import parse_text
from remora.judges.calls.target_function import TargetFunction, import_name
from remora.operations.test.new_files import FileNaming, imports_of, new_path, new_stems

_MIN_DOCSTRING_SHARE = 0.9
_INDENTS = ("\t", "  ", "    ")
_PLAIN_ASSERTION = re.compile(r"^\s+assert ", re.MULTILINE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class InsertLocation(msgspec.Struct, frozen=True, kw_only=True):
    """The test file for a new test, and the style of its tests."""

    path: str
    """The path of the file."""
    exists: bool
    """False if the file has to be created."""
    imports_from: str
    """The name of the target's module in imports."""
    quote: str
    """The quote character of the tests."""
    typed: bool
    """True if the tests are annotated with `-> None`."""
    unittest: bool = False
    """True if the tests are methods of unittest classes."""
    alias: str = ""
    """The name of the target's module, if the tests import it whole."""
    test_name: str = "test_it"
    """The name of the new test."""
    docstring: str = ""
    """The source of the docstring of the new test."""
    related: tuple[str, ...] = ()
    """Names: functions are inserted after the last test that uses one of them."""
    header: str = ""
    """The beginning of a new file."""
    indent: str = "    "
    """The indentation of a level: two or four spaces, or a tab."""


def locate_test(
    subject: TargetFunction,
    tests: Mapping[str, str],
    exists: Callable[[str], bool],
    public: Sequence[str],
    *,
    typed: bool,
    path: str,
) -> InsertLocation:
    """Return the location of a new test.

    `tests` maps each test file's path to its source. `public` contains the packages that provide
    the function, too. `typed` is true if the first tests of a project are annotated. `path` is that
    of the file.
    """
    around = {path: tests[path]} if path in tests else dict(tests)
    relative = _is_relative(path, tests)
    names = module_names(subject.source.tree)
    chosen = _import_text(subject, path, exists, relative=relative)
    alias = ""
    if not chosen.startswith("."):
        modules = [*public, subject.module]
        near = [tests[path]] if path in tests else []
        chosen, alias = import_form(modules, near) or import_form(modules, [*tests.values()]) or (
            modules[0], "",
        )  # fmt: skip
    return InsertLocation(
        alias=alias,
        unittest=_uses_unittest(around.values()),
        test_name=_test_name(subject.qualname),
        path=path,
        exists=path in tests,
        imports_from=chosen,
        quote=_quote_style(around),
        typed=_tests_are_typed(around) if _functions(around) else typed,
        docstring=_docstring(around, subject.function.name),
        related=tuple(names),
        indent=_indent([*around.values(), subject.source.utf8.decode()]),
    )


def _indent(texts: Iterable[str]) -> str:
    """Return the indentation of the first function or class: two or four spaces, or a tab."""
    for text in texts:
        tree, lines = parse_text(text), split_lines(text)
        for block in tree.body if isinstance(tree, ast.Module) else ():
            if isinstance(block, ast.FunctionDef | ast.ClassDef):
                first = block.body[0]
                if first.lineno > block.lineno:
                    indent = lines[first.lineno - 1][: first.col_offset]
                    return indent if indent in _INDENTS else _INDENTS[-1]
    return _INDENTS[-1]


def _uses_unittest(texts: Iterable[str]) -> bool:
    """Return True if most assertions of the tests are methods such as `self.assertEqual`."""
    text = "\n".join(texts)
    return text.count("self.assert") > len(_PLAIN_ASSERTION.findall(text))


def _test_name(qualname: str) -> str:
    """Return the name of a test function, such as `test_shop_cart_add` for `ShopCart.add`."""
    words = [_CAMEL.sub("_", part).lower().strip("_") for part in qualname.split(".")]
    return f"test_{'_'.join(words)}"


def path_for_tests(
    subject: TargetFunction,
    tests: Mapping[str, str],
    exists: Callable[[str], bool],
    naming: FileNaming,
) -> str:
    """Return the path of the file for the tests of a function's module. It may not exist yet.

    A file that an earlier test of the module created is taken again.
    """
    stem = _module_stem(subject)
    found = _existing_path(subject, stem, tests, exists)

    def is_taken(path: str) -> bool:
        """Return True also if pytest would import another test file by the same name."""
        folder, _, name = path.rpartition("/")
        is_package = exists(f"{folder}/__init__.py".lstrip("/"))
        is_namesake = any(other.endswith(f"/{name}") for other in tests.keys() - {path})
        is_own = path in tests and _is_own(subject, tests[path])
        return (is_namesake and not is_package) or (exists(path) and not is_own)

    return found or new_path(subject, stem, tests, exists=exists, naming=naming, is_taken=is_taken)


def import_form(modules: Sequence[str], texts: Sequence[str]) -> tuple[str, str] | None:
    """Return the module from which the texts import most often, and its name if it is imported.

    The name is empty if the texts import names from the module. Return None if they import none of
    the modules.
    """
    found = Counter[tuple[str, str]]()
    for module in modules:
        name = re.escape(module)
        parent, _, last = module.rpartition(".")
        inside = [
            other.rpartition(".")[2] for other in modules if other.rpartition(".")[0] == module
        ]
        others = "".join(rf"(?!{re.escape(inner)}\b(?! *,))" for inner in inside)
        for text in texts:
            found[module, ""] += len(re.findall(rf"(?m)^from {name} import {others}", text))
            inner = rf"(?m)^from {re.escape(parent)} import (?:.*[ ,])?{re.escape(last)}(?: as (\w+))?(?:,|$)"
            for alias in re.findall(inner, text) if parent else ():
                found[module, alias or last] += 1
            for alias in re.findall(rf"(?m)^import {name}(?: as (\w+))?[ \t]*$", text):
                if alias or "." not in module:
                    found[module, alias or module] += 1
    best = max(found, key=lambda form: found[form], default=None)
    return best if best is not None and found[best] else None


def _module_stem(subject: TargetFunction) -> str:
    name = subject.path.removesuffix(".py").rpartition("/")[2]
    if name == "__init__":
        name = subject.module.rpartition(".")[2]
    return name.strip("_").lower()


def _existing_path(
    subject: TargetFunction, stem: str, tests: Mapping[str, str], exists: Callable[[str], bool]
) -> str | None:
    """Return the test file named after the module, or else the one that imports most from it.

    A file that is named after another module, or that imports a namesake, is not taken. The only
    test file is taken whatever its name.
    """
    for name in (stem, *new_stems(subject, stem)):
        names = (f"test_{name}.py", f"{name}_test.py", f"test{name}.py")
        own = [
            path
            for path in sorted(tests)
            if path.rpartition("/")[2] in names and _is_own(subject, tests[path])
        ]
        if own:
            return max(own, key=lambda path: _uses(subject, tests[path]))
    folder = subject.path.rpartition("/")[0]
    of_others = {
        path
        for path, text in tests.items()
        if exists(f"{folder}/{_tested_stem(path)}.py".lstrip("/"))
        or _imports_other(subject, text, _tested_stem(path))
    }
    if len(tests) == 1 and not of_others:
        ((path, text),) = tests.items()
        package = subject.module.partition(".")[0]
        imports_package = any(imported.module == package for imported in imports_of(text))
        return path if imports_package or _uses(subject, text) else None
    if "." not in subject.module:
        return None
    uses = {path: _uses(subject, text) for path, text in tests.items() if path not in of_others}
    *others, best = ["", *sorted(filter(uses.get, uses), key=lambda path: uses[path])]
    is_clear = not others or uses.get(others[-1]) != uses[best]
    return best if best and is_clear else None


def _tested_stem(path: str) -> str:
    name = path.rpartition("/")[2].removesuffix(".py")
    return re.sub(r"^test_?|_test$", "", name)


def _uses(subject: TargetFunction, text: str) -> int:
    """Return how often a test file uses what it imports from the module or a package above."""
    own = module_names(subject.source.tree)
    imports = imports_of(text)
    if not any(_is_of_module(imported, subject.module) for imported in imports):
        own = [
            imported.name
            for imported in imports
            if imported.name in own and subject.module.startswith(f"{imported.module}.")
        ]
        if not own:
            return 0
    names = "|".join(map(re.escape, own))
    return 1 + len(re.findall(rf"\b(?:{names})\b", text)) if names else 1


def _is_of_module(imported: Imported, module: str) -> bool:
    """Return True if a module, or a name of it, is imported. Relative imports count by its name."""
    parent, _, last = module.rpartition(".")
    if not imported.module.startswith("."):
        return imported.module == module or (imported.name == last and imported.module == parent)
    inside = imported.module.strip(".")
    return inside.rpartition(".")[2] == last or (imported.name == last and not inside)


def _is_own(subject: TargetFunction, text: str) -> bool:
    """Return True if a test file with the module's name is not that of a namesake."""
    return bool(_uses(subject, text)) or not _imports_other(
        subject, text, subject.module.rpartition(".")[2]
    )


def _imports_other(subject: TargetFunction, text: str, name: str) -> bool:
    """Return True if a test file imports another module with a name than those of the function."""
    found = imports_of(text)
    modules = {imported.module for imported in found}
    modules |= {f"{imported.module}.{imported.name}" for imported in found}
    return any(
        module.endswith(f".{name}")
        and module.strip(".") != name
        and not f"{subject.module}.".startswith(f"{module}.")
        for module in modules
    )


def module_names(tree: ast.Module) -> list[str]:
    """Return the names of a module's functions and classes."""
    return [statement.name for statement in tree.body if isinstance(statement, DefinitionNode)]


def _is_relative(path: str, tests: Mapping[str, str]) -> bool:
    folder = path.rpartition("/")[0]
    near = [text for other, text in tests.items() if other.rpartition("/")[0] == folder]
    return sum("\nfrom ." in text for text in near) * 2 > len(near) > 0


def _import_text(
    subject: TargetFunction, path: str, exists: Callable[[str], bool], *, relative: bool
) -> str:
    root, name = import_name(path, exists)
    here, there = name.split(".")[:-1], subject.module.split(".")
    if not relative or not here or root != subject.import_root or here[0] != there[0]:
        return subject.module
    return relative_module(here, there)


def _quote_style(around: Mapping[str, str]) -> str:
    text = "".join(around.values())
    return "'" if text.count("'") > 2 * text.count('"') else '"'


def _tests_are_typed(around: Mapping[str, str]) -> bool:
    tests = _functions(around)
    return sum(test.returns is not None for test in tests) * 2 > len(tests) > 0


def _docstring(around: Mapping[str, str], name: str) -> str:
    """Return the docstring of a test of `name` if nearly all other tests have a docstring."""
    tests = _functions(around)
    found = [text for test in tests for text in [ast.get_docstring(test)] if text]
    if not found or len(found) < _MIN_DOCSTRING_SHARE * len(tests):
        return ""
    dot = "." if sum(text.endswith(".") for text in found) * 2 > len(found) else ""
    return f'"""Test `{name}`{dot}"""'


def _functions(around: Mapping[str, str]) -> list[ast.FunctionDef]:
    return [test for text in around.values() for test in _tests_in(text)]


@functools.lru_cache(maxsize=32)
def _tests_in(text: str) -> tuple[ast.FunctionDef, ...]:
    """Return the tests in a file. The location of each new test is found from the same files."""
    tree = parse_text(text)
    return tuple(
        node
        for node in (ast.walk(tree) if isinstance(tree, ast.Module) else ())
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    )
