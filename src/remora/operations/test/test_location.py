"""Location and style of a new test, based on the project's existing tests."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from remora.code.pytest_model.pytest_file import is_test_file
from remora.code.syntax.source import parse_text
from remora.operations.test.class_style import Form, class_style
from remora.operations.test.target_function import TargetFunction, import_name
from remora.operations.test.test_imports import Imported

_PARAMETRIZED = re.compile(r"mark\.parametrize\(\s*(?:argnames=)?([\"'][^\"']*,|[\"']|[(\[])")


class InsertLocation(msgspec.Struct, frozen=True, kw_only=True):
    """The test file for a new test. `exists` is false if the file has to be created.

    `imports_from` is the name of the target's module in imports. `quote` is the quote character of
    the surrounding tests, and `typed` is true if these tests are annotated with `-> None`. `table`
    is the form of the parameter names in parametrized tests: a single string (`text`) or several
    strings (`names`). `form` says whether tests are functions or methods, `owner` is the class of a
    method, and `base` the source of its base class if the class has to be created, which
    `base_import` imports. `test_name` is the name of the new test.
    """

    path: str
    exists: bool
    imports_from: str
    quote: str
    typed: bool
    table: Literal["", "text", "names"] = ""
    form: Form = "function"
    alias: str = ""
    owner: str = ""
    base: str = ""
    base_import: Imported | None = None
    test_name: str = "test_it"


def locate_test(
    subject: TargetFunction,
    tests: Mapping[str, str],
    exists: Callable[[str], bool],
    public: Sequence[str] = (),
) -> InsertLocation:
    """Return the location of a new test.

    `tests` maps each test file's path to its source. `public` contains the packages that provide
    the function, too.
    """
    stem = _module_stem(subject)
    path = _existing_path(subject, stem, tests)
    around = {path: tests[path]} if path else dict(tests)
    if path is None:
        path = _new_path(subject, stem, tests, exists)
    relative = _is_relative(path, tests)
    style = class_style(around.values(), tests.get(path, ""), subject.qualname)
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
        form=style.form,
        owner=style.owner,
        base=style.base,
        base_import=style.base_import,
        test_name=style.test_name,
        path=path,
        exists=path in tests,
        imports_from=chosen,
        quote=_quote_style(around),
        typed=_tests_are_typed(around),
        table=_table_style(tests),
    )


def is_unittest_file(path: str) -> bool:
    """Return True for files such as `tests/testcart.py`, which only unittest collects by default."""
    *folders, file = path.split("/")
    in_tests = bool(folders) and folders[-1] in ("test", "tests")
    return in_tests and file.startswith("test") and file.endswith(".py") and not is_test_file(path)


def import_form(modules: Sequence[str], texts: Sequence[str]) -> tuple[str, str] | None:
    """Return the module from which the texts import most often, and its name if it is imported.

    The name is empty if the texts import names from the module. Return None if they import none of
    the modules.
    """
    found = Counter[tuple[str, str]]()
    for module in modules:
        name = re.escape(module)
        for text in texts:
            found[module, ""] += len(re.findall(rf"(?m)^from {name} import ", text))
            for alias in re.findall(rf"(?m)^import {name}(?: as (\w+))?[ \t]*$", text):
                if alias or "." not in module:
                    found[module, alias or module] += 1
    best = max(found, key=lambda each: found[each], default=None)
    return best if best is not None and found[best] else None


def _module_stem(subject: TargetFunction) -> str:
    name = subject.path.removesuffix(".py").rpartition("/")[2]
    if name == "__init__":
        name = subject.module.rpartition(".")[2]
    return name.strip("_").lower()


def _existing_path(subject: TargetFunction, stem: str, tests: Mapping[str, str]) -> str | None:
    """Return the test file named after the module, or else the only one that imports from it."""
    for each in (stem, stem.removesuffix("s"), f"{stem}s"):
        names = (f"test_{each}.py", f"{each}_test.py")
        named = [path for path in sorted(tests) if path.rpartition("/")[2] in names]
        importing = [path for path in named if subject.module.rpartition(".")[2] in tests[path]]
        if named:
            return (*importing, *named)[0]
    imports = re.compile(rf"^(?:from|import) {re.escape(subject.module)}\b(?!\.)", re.MULTILINE)
    found = [path for path, text in tests.items() if imports.search(text)]
    return found[0] if len(found) == 1 and "." in subject.module else None


def _new_path(
    subject: TargetFunction, stem: str, tests: Mapping[str, str], exists: Callable[[str], bool]
) -> str:
    """Return a path for a new file, in the folder with the most tests.

    If a subfolder of that folder contains tests and its path matches the module's folder, the
    subfolder is used instead.
    """
    folders = Counter(path.rpartition("/")[0] for path in tests)
    near = [folder for folder in folders if subject.path.startswith(_parent_prefix(folder))]
    pool = {folder: folders[folder] for folder in near or folders}
    folder = max(sorted(pool), key=lambda each: pool[each]) if pool else "tests"
    inner = subject.path.removeprefix(subject.import_root).strip("/").split("/")[1:-1]
    mirrored = "/".join((folder, *inner))
    if mirrored in folders:
        folder = mirrored
    prefix = f"{folder}/" if folder else ""
    path = f"{prefix}test_{stem}.py"
    return path if not exists(path) else f"{prefix}test_{'_'.join((*inner, stem))}_functions.py"


def _parent_prefix(folder: str) -> str:
    above = folder.rpartition("/")[0]
    return f"{above}/" if above else ""


def _is_relative(path: str, tests: Mapping[str, str]) -> bool:
    folder = path.rpartition("/")[0]
    near = [text for each, text in tests.items() if each.rpartition("/")[0] == folder]
    return sum("\nfrom ." in text for text in near) * 2 > len(near) > 0


def _import_text(
    subject: TargetFunction, path: str, exists: Callable[[str], bool], *, relative: bool
) -> str:
    root, name = import_name(path, exists)
    here, there = name.split(".")[:-1], subject.module.split(".")
    if not relative or not here or root != subject.import_root or here[0] != there[0]:
        return subject.module
    shared = 0
    while shared < min(len(here), len(there)) and here[shared] == there[shared]:
        shared += 1
    return "." * (len(here) - shared + 1) + ".".join(there[shared:])


def _quote_style(around: Mapping[str, str]) -> str:
    text = "".join(around.values())
    return "'" if text.count("'") > 2 * text.count('"') else '"'


def _table_style(tests: Mapping[str, str]) -> Literal["", "text", "names"]:
    """Return the style used by most parametrized tests, or an empty string if there are none."""
    found = [match[1] for text in tests.values() for match in _PARAMETRIZED.finditer(text)]
    as_text = sum(each.endswith(",") for each in found)
    as_names = sum(each in "([" for each in found)
    return "" if not found else "text" if as_text > as_names else "names"


def _tests_are_typed(around: Mapping[str, str]) -> bool:
    tests = [
        one
        for text in around.values()
        for tree in [parse_text(text)]
        if isinstance(tree, ast.Module)
        for one in ast.walk(tree)
        if isinstance(one, ast.FunctionDef) and one.name.startswith("test")
    ]
    return sum(one.returns is not None for one in tests) * 2 > len(tests) > 0
