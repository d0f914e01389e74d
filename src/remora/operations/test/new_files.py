"""Paths of new test files."""

from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

from remora.judges.calls.target_function import TargetFunction
from remora.tools.host.pytest_settings import pytest_settings
from remora.tools.tree import ToolTree

GENERIC = frozenset(
    {
        "index", "parse", "parser", "utils", "util", "base", "core", "main", "types", "common", "helpers",
        "misc", "tools", "functions", "api", "impl",
    }
)  # fmt: skip
"""Names of modules that say little without their package."""


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
    return FileNaming(pytest_settings(place).folders, with_suffix * 2 > len(tests))


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
    prefix = f"{folder}/" if folder else ""
    first, second = new_stems(subject, stem)
    path = f"{prefix}{naming.name(first)}"
    return path if not is_taken(path) else f"{prefix}{naming.name(second)}"


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
