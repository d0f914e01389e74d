"""Paths of new test files."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import takewhile

import msgspec

from remora.code.edit.import_edits import imports_anywhere
from remora.code.pytest_model.pytest_file import TEST_FOLDERS
from remora.judges.calls.target_function import TargetFunction
from remora.tools.tree import ToolTree

GENERIC = frozenset(
    {
        "index", "parse", "parser", "utils", "util", "base", "core", "main", "types", "common", "helpers",
        "misc", "tools", "functions", "api", "impl",
    }
)  # fmt: skip
"""Names of modules that say little without their package."""

imports_of = lru_cache(maxsize=4096)(imports_anywhere)
"""The imports of a test file, which each function's tests ask for."""


class FileNaming(msgspec.Struct, frozen=True):
    """The folders and the names of a project's test files."""

    folders: tuple[str, ...]
    """The folders in which pytest looks for tests, or none if they are not known."""
    has_test_suffix: bool
    """True for names such as `cart_test.py`, False for `test_cart.py`."""

    def name(self, stem: str) -> str:
        return f"{stem}_test.py" if self.has_test_suffix else f"test_{stem}.py"


def naming_of(place: ToolTree, tests: Mapping[str, str]) -> FileNaming:
    """Return where a project's test files are, and how most of them are named."""
    with_suffix = sum(path.endswith("_test.py") for path in tests)
    return FileNaming(place.pytest_settings().folders, with_suffix * 2 > len(tests))


def new_path(
    subject: TargetFunction,
    stem: str,
    tests: Mapping[str, str],
    *,
    exists: Callable[[str], bool],
    naming: FileNaming,
    is_taken: Callable[[str], bool],
) -> str:
    """Return a path for a new file, in the folder with the most tests that pytest looks in.

    If a subfolder of that folder contains tests or is a package, and its path matches the module's
    folder, the subfolder is used instead.
    """
    folders = Counter(
        folder
        for folder in (path.rpartition("/")[0] for path in tests)
        if not naming.folders
        or any(f"{folder}/".startswith(f"{known}/") for known in naming.folders)
    )
    near = [folder for folder in folders if subject.path.startswith(_parent_prefix(folder))]
    pool = {folder: folders[folder] for folder in near or folders}
    usual = (*naming.folders, _folder_with_module(subject, exists))
    folder = max(sorted(pool), key=lambda path: pool[path]) if pool else usual[0]
    mirrored = "/".join(filter(None, (folder, *_folders_in_package(subject))))
    if mirrored in folders or exists(f"{mirrored}/__init__.py"):
        folder = mirrored
    folder = _without_others(folder, subject, tests)
    prefix = f"{folder}/" if folder else ""
    first, second = new_stems(subject, stem)
    path = f"{prefix}{naming.name(first)}"
    return path if not is_taken(path) else f"{prefix}{naming.name(second)}"


def _without_others(folder: str, subject: TargetFunction, tests: Mapping[str, str]) -> str:
    """Return a folder of tests, with the module's package in place of another that it is named after.

    If `tests/a` imports `pkg.a.words`, tests of `pkg/b` are in `tests/b`. Those of `pkg/a` may also
    be in `pkg/a/tests`.
    """
    parts, own = folder.split("/"), _path_in_root(subject)[:-1]
    texts = [text for path, text in tests.items() if path.startswith(f"{folder}/")]
    found = (imported for text in texts for imported in imports_of(text))
    names = (f"{imported.module}.{imported.name}".split(".") for imported in found)
    of_project = (words for words in names if not words[0].startswith("test"))
    others = {
        part for words in of_project if words[0] not in {*parts[:1]} - {*own} for part in words
    }
    if own and own[0] in parts:
        others |= {*takewhile(lambda part: part not in TEST_FOLDERS, parts)}
    others -= {"", *own, *subject.import_root.split("/"), *TEST_FOLDERS}
    at = next((n for n, part in enumerate(parts) if part in others), len(parts))
    inside = [name for name in own[1:] if name not in parts] if at < len(parts) else []
    return "/".join((*parts[:at], *inside, *(part for part in parts[at:] if part in TEST_FOLDERS)))


def _folder_with_module(subject: TargetFunction, exists: Callable[[str], bool]) -> str:
    """Return the folder of tests that has an `__init__.py` or a `conftest.py`, or else `tests`."""
    import_root = f"{subject.import_root}/" if subject.import_root else ""
    package = f"{import_root}{_path_in_root(subject)[0]}/"
    folders = [
        f"{start}{name}" for start in ("", import_root, package) for name in ("tests", "test")
    ]
    files = ("__init__.py", "conftest.py")
    usable = (folder for folder in folders if any(exists(f"{folder}/{file}") for file in files))
    return next(usable, "tests")


def new_stems(subject: TargetFunction, stem: str) -> tuple[str, str]:
    """Return two stems for a new file; the second is for when the first is taken."""
    if stem in GENERIC and "." in subject.module:
        stem = f"{subject.module.split('.')[-2].strip('_').lower()}_{stem}"
    return stem, f"{'_'.join((*_folders_in_package(subject), stem))}_functions"


def _path_in_root(subject: TargetFunction) -> list[str]:
    """Return the folders and the file from which a module's name is made."""
    return subject.path.removeprefix(subject.import_root).strip("/").split("/")


def _folders_in_package(subject: TargetFunction) -> list[str]:
    return _path_in_root(subject)[1:-1]


def _parent_prefix(folder: str) -> str:
    above = folder.rpartition("/")[0]
    return f"{above}/" if above else ""
