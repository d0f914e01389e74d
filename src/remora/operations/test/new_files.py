"""New test files: where they go, and what they are called."""

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


class NewFiles(msgspec.Struct, frozen=True):
    """The folders in which tests are looked for, if they are known, and the form of the files.

    `ends` is true for names such as `cart_test.py`.
    """

    folders: tuple[str, ...]
    ends: bool

    def name(self, stem: str) -> str:
        return f"{stem}_test.py" if self.ends else f"test_{stem}.py"


def new_files(place: ToolTree, tests: Mapping[str, str]) -> NewFiles:
    """Return where new test files of a project go."""
    ends = sum(path.endswith("_test.py") for path in tests) * 2 > len(tests)
    return NewFiles(pytest_settings(place).folders, ends)


def new_path(
    subject: TargetFunction,
    stem: str,
    tests: Mapping[str, str],
    exists: Callable[[str], bool],
    new: NewFiles,
    is_taken: Callable[[str], bool],
) -> str:
    """Return a path for a new file, in the folder with the most tests that pytest looks in.

    If a subfolder of that folder contains tests or is a package, and its path matches the module's
    folder, the subfolder is used instead.
    """
    folders = Counter(
        folder
        for folder in (path.rpartition("/")[0] for path in tests)
        if not new.folders or any(f"{folder}/".startswith(f"{known}/") for known in new.folders)
    )
    near = [folder for folder in folders if subject.path.startswith(_parent_prefix(folder))]
    pool = {folder: folders[folder] for folder in near or folders}
    usual = (*new.folders, _folder_with_module(subject, exists))
    folder = max(sorted(pool), key=lambda path: pool[path]) if pool else usual[0]
    inner = subject.path.removeprefix(subject.import_root).strip("/").split("/")[1:-1]
    mirrored = "/".join(filter(None, (folder, *inner)))
    if mirrored in folders or exists(f"{mirrored}/__init__.py"):
        folder = mirrored
    prefix = f"{folder}/" if folder else ""
    first, second = new_stems(subject, stem)
    path = f"{prefix}{new.name(first)}"
    return path if not is_taken(path) else f"{prefix}{new.name(second)}"


def _folder_with_module(subject: TargetFunction, exists: Callable[[str], bool]) -> str:
    """Return the folder of tests that has an `__init__.py` or a `conftest.py`, or else `tests`."""
    package = "/".join(subject.path.removeprefix(subject.import_root).strip("/").split("/")[:1])
    above = ["", f"{subject.import_root.strip('/')}/".lstrip("/")]
    above.append(f"{above[1]}{package}/")
    folders = [f"{start}{name}" for start in above for name in ("tests", "test")]
    files = ("__init__.py", "conftest.py")
    found = (folder for folder in folders if any(exists(f"{folder}/{file}") for file in files))
    return next(found, "tests")


def new_stems(subject: TargetFunction, stem: str) -> tuple[str, str]:
    """Return names for a new file without `test_`, the second for a folder with such a file."""
    inner = subject.path.removeprefix(subject.import_root).strip("/").split("/")[1:-1]
    if stem in GENERIC and "." in subject.module:
        stem = f"{subject.module.split('.')[-2].strip('_').lower()}_{stem}"
    return stem, f"{'_'.join((*inner, stem))}_functions"


def _parent_prefix(folder: str) -> str:
    above = folder.rpartition("/")[0]
    return f"{above}/" if above else ""
