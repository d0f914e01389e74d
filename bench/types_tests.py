"""Tests of packages for the types operation, and environments in which they run, made once."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from types_packages import CACHE, package_texts

_TEST_NEEDS = ("pytest", "pytest-mock", "pytest-asyncio", "freezegun", "pretend", "hypothesis")
_BUILDERS = (
    "setuptools",
    "setuptools-scm",
    "wheel",
    "hatchling",
    "hatch-vcs",
    "hatch-fancy-pypi-readme",
    "flit-core",
    "poetry-core",
    "pdm-backend",
)
_GROUPS = ("test", "tests", "testing")
_SETTINGS = ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg")


def environment(name: str, packages: Sequence[str]) -> Path:
    """Return the interpreter of an environment with some packages, made once."""
    folder = CACHE / "environments" / name
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        (folder / "done").touch()
    return python


def test_environment(package: str, *more: str) -> Path:
    """Return the interpreter of an environment with what a package's tests need."""
    return environment(f"tests-{package}", (*_TEST_NEEDS, *more, *_needs(package), package))


def source_folder(package: str) -> Path | None:
    """Return the folder of a package's source archive, or None if there is none."""
    folder = CACHE / "sources" / package
    if not folder.is_dir():
        folder.mkdir(parents=True)
        words = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
        # pip reads metadata, and would install what a build needs
        fast = [
            str(environment("builders", _BUILDERS)),
            "-m",
            "pip",
            *words,
            "--no-build-isolation",
        ]
        if subprocess.run([*fast, package], check=False, capture_output=True).returncode:
            subprocess.run([sys.executable, "-m", "pip", *words, package], check=False)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as files:
                files.extractall(folder, filter="data")
    return next((each for each in sorted(folder.iterdir()) if each.is_dir()), None)


def tests_folder(package: str) -> Path | None:
    """Return the folder of tests in a package's source archive, or None if there is none."""
    source = source_folder(package)
    found = [source / name for name in ("tests", "test", "testing")] if source else []
    return next((each for each in found if each.is_dir()), None)


def tests_of(package: str) -> dict[str, str]:
    """Return the Python files of a package's tests, in the folder `tests`."""
    folder = tests_folder(package)
    texts: dict[str, str] = {}
    if folder is None:
        return texts
    for path in sorted(folder.rglob("*.py")):
        try:
            texts[f"tests/{path.relative_to(folder).as_posix()}"] = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
    return texts


def _needs(package: str) -> list[str]:
    """Return the packages that a project file lists for tests."""
    source = source_folder(package)
    file = source / "pyproject.toml" if source else None
    if file is None or not file.exists():
        return []
    document = tomllib.loads(file.read_text("utf-8"))
    groups = document.get("dependency-groups", {})
    extras = document.get("project", {}).get("optional-dependencies", {})
    found = [each for table in (groups, extras) for name in _GROUPS for each in table.get(name, ())]
    return [each for each in found if isinstance(each, str) and not each.startswith(package)]


def tree_with_tests(package: str, root: Path, texts: dict[str, str]) -> bool:
    """Write a package with other texts of some files, and its tests, to an empty folder.

    Returns False if the package has no tests.
    """
    tests, source = tests_folder(package), source_folder(package)
    shutil.rmtree(root, ignore_errors=True)
    if tests is None or source is None:
        return False
    package_texts(package)
    shutil.copytree(CACHE / package, root, ignore=shutil.ignore_patterns("*.whl"))
    shutil.copytree(tests, root / "tests", dirs_exist_ok=True)
    for name in _SETTINGS:
        if (source / name).exists():
            shutil.copy(source / name, root / name)
    for path, text in texts.items():
        (root / path).write_text(text, encoding="utf-8")
    return True
