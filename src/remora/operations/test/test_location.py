"""Location and style of a new test, based on the project's existing tests."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from remora.code.syntax.source import parse_text
from remora.operations.test.target_function import TargetFunction, import_name

_PARAMETRIZED = re.compile(r"mark\.parametrize\(\s*(?:argnames=)?([\"'][^\"']*,|[\"']|[(\[])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class InsertLocation(msgspec.Struct, frozen=True, kw_only=True):
    """The test file for a new test. `exists` is false if the file has to be created.

    `imports_from` is the name of the target's module in imports. `quote` is the quote character of
    the surrounding tests, and `typed` is true if these tests are annotated with `-> None`. `table`
    is the form of the parameter names in parametrized tests: a single string (`text`) or several
    strings (`names`).
    """

    path: str
    exists: bool
    imports_from: str
    quote: str
    typed: bool
    table: Literal["", "text", "names"] = ""


def locate_test(
    subject: TargetFunction, tests: Mapping[str, str], exists: Callable[[str], bool]
) -> InsertLocation:
    """Return the location of a new test. `tests` maps each test file's path to its source."""
    stem = _module_stem(subject)
    names = (f"test_{stem}.py", f"{stem}_test.py")
    named = [path for path in sorted(tests) if path.rpartition("/")[2] in names]
    importing = [path for path in named if subject.module.rpartition(".")[2] in tests[path]]
    path = next(iter((*importing, *named)), None)
    around = {path: tests[path]} if path else dict(tests)
    if path is None:
        path = _new_path(subject, stem, tests, exists)
    relative = _is_relative(path, tests)
    return InsertLocation(
        path=path,
        exists=path in tests,
        imports_from=_import_text(subject, path, exists, relative=relative),
        quote=_quote_style(around),
        typed=_tests_are_typed(around),
        table=_table_style(tests),
    )


def _module_stem(subject: TargetFunction) -> str:
    name = subject.path.removesuffix(".py").rpartition("/")[2]
    if name == "__init__":
        name = subject.module.rpartition(".")[2]
    return name.strip("_").lower()


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


def test_name(qualname: str) -> str:
    """Return the name of a test, such as `test_shop_cart_add` for `ShopCart.add`."""
    words = [_CAMEL.sub("_", part).lower() for part in qualname.split(".")]
    return f"test_{'_'.join(word.strip('_') for word in words)}"
