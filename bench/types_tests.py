"""Tests of packages for the types operation, and the types seen while they run.

Usage: python bench/types_tests.py PACKAGE... Archives and environments are made once.
"""

import ast
import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import msgspec
from types_packages import CACHE, package_texts

from remora.config.user_folders import UserFolders
from remora.hub.file_limits import FileRules
from remora.hub.process.hub_paths import hub_paths
from remora.hub.sources.current_nodes import CurrentNodes
from remora.ids import escape_path, node_key
from remora.operations.types.source.slots import functions_of

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
_PYTEST = ("-q", "-p", "no:cacheprovider", "-o", "addopts=", "-W", "default")
_SECONDS = 240


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


def observed_of(package: str) -> dict[str, dict[str, Any]]:
    """Return what `remora hub observe` sees while a package's tests run, by node.

    The result is empty if there are no tests, or they do not run. It is kept in the cache.
    """
    kept = CACHE / "observed" / f"{package}.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(_observed(package)), encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(kept.read_text("utf-8"))
    return found


def _observed(package: str) -> dict[str, dict[str, Any]]:
    root = CACHE / "observed" / package
    if not tree_with_tests(package, root, {}):
        return {}
    python = test_environment(package)
    subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "-y", package], check=True)
    (root / "remora.yaml").write_text(f"python: {python}\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    remora = Path(sys.executable).with_name("remora")
    words = ["hub", "observe", "--allow-unsandboxed", "--max-time", str(_SECONDS), "--"]
    words += ["python", "-m", "pytest", *_PYTEST, "--continue-on-collection-errors", "tests"]
    done = subprocess.run([remora, *words], cwd=root, capture_output=True, check=False)
    print(package, done.stdout.decode()[-300:], done.stderr.decode()[-300:], flush=True)
    found = _read(root, package)
    shutil.rmtree(root)
    return found


def _read(root: Path, package: str) -> dict[str, dict[str, Any]]:
    keys = [
        node_key(escape_path(path), name)
        for path, text in package_texts(package).items()
        for name, _, _ in functions_of(ast.parse(text))
    ]
    places = hub_paths(UserFolders.of_this_process(), root.resolve())
    found = CurrentNodes(places.root, places.db, FileRules()).observed(keys)
    return {key: msgspec.to_builtins(each) for key, each in found.items()}


if __name__ == "__main__":
    for each in sys.argv[1:]:
        try:
            print(each, len(observed_of(each)), "functions observed", flush=True)
        except subprocess.CalledProcessError as error:
            print(each, error, flush=True)
