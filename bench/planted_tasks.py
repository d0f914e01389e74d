"""Tasks that are planted in copies of packages, with the truth of each.

A task is planted by a rule in a function that a seed chooses. It is removed again if the tests
notice a fault that the linter is to find, or if the linter finds something else.
"""

import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import planted_code as code
from planted_tests import committed

QUOTA = {"test": 5, "docstring": 7, "types": 6, "lint": 7}
CODES = {
    "bare_except": "E722",
    "undefined_name": "F821",
    "ambiguous_name": "E741",
    "compared_types": "E721",
}
MUTANTS = 8
MOST_TESTS = 4
"""Tests that a function gets at most."""
TRIALS = 3
"""Functions of a package that are tried for a rule whose faults tests may notice."""
_SAME = ("D", "ANN")
"""Beginnings of rules of linters that find what is planted for another operation."""
_LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", ".agentfs", ".pytest_cache", "*.pyc")

NAMES = ("package", "kind", "rule", "path", "function")
"""What identifies a task."""

Task = dict[str, Any]


class Tree:
    """A copy of a package: its files, its tests, its linter and its type checker."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.python = root / ".venv/bin/python"

    @classmethod
    def copied(cls, package: Path, root: Path) -> "Tree":
        """Copy a package, so that its environment imports the copy."""
        shutil.copytree(package, root, symlinks=True, ignore=_LEFT_OUT)
        return cls.moved(root, package)

    @classmethod
    def moved(cls, root: Path, before: Path) -> "Tree":
        """Let the environment of a tree that was elsewhere import the tree."""
        for file in root.glob(".venv/lib/python*/site-packages/*.pth"):
            text = file.read_text()
            if str(before) in text:
                file.write_text(text.replace(str(before), str(root)))
        return cls(root)

    def files(self, *, tests: bool) -> list[str]:
        """Return the paths of the package's files, or of those of its tests."""
        found = (path.relative_to(self.root) for path in sorted(self.root.rglob("*.py")))
        outer = {".venv", "docs", "fuzz", "scripts", "setup.py", "noxfile.py", "conf.py"}
        return [
            str(path)
            for path in found
            if not outer & {*path.parts}
            and tests == any(part.startswith("test") for part in path.parts)
        ]

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def passes(self, *tests: str) -> bool:
        words = [str(self.python), "-m", "pytest", "-qx", "-p", "no:cacheprovider", *tests]
        environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                words,
                check=False,
                cwd=self.root,
                env=environ,
                capture_output=True,
                timeout=15 if tests else 120,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def findings(self, path: str) -> list[tuple[str, int]]:
        """Return the codes and the lines of what ruff finds with the package's own settings."""
        words = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=json", path]
        done = subprocess.run(words, cwd=self.root, capture_output=True, text=True, check=False)
        return [(each["code"] or "", each["location"]["row"]) for each in json.loads(done.stdout)]

    def drop_imports(self, path: str) -> None:
        """Remove the imports that a file does not use."""
        words = [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--no-cache",
            "-q",
            "--fix",
            "--select=F401",
        ]
        subprocess.run([*words, path], cwd=self.root, check=False, capture_output=True)

    def type_errors(self, path: str) -> Counter[str]:
        """Return the errors of mypy without their lines."""
        words = ["--python-executable", self.python, "--ignore-missing-imports", "--config-file="]
        words += ["--check-untyped-defs", "--hide-error-context", "--no-color-output", path]
        words += ["--cache-dir", self.root.parent / f"{self.root.name}.mypy"]
        environ = {**os.environ, "MYPYPATH": str(self.root / "src")}
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *map(str, words)],
            cwd=self.root,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [line for line in done.stdout.splitlines() if ": error:" in line]
        return Counter(re.sub(r":\d+(:\d+)?:", ":", line) for line in lines)


class Planter:
    """Plants tasks in one package."""

    def __init__(self, tree: Tree, seed: int) -> None:
        self._tree = tree
        self._random = random.Random(f"{seed} {tree.root.name}")
        self._used = set[tuple[str, str]]()
        self._refused = set[tuple[str, str, str]]()
        self._tried = Counter[str]()
        self._removed: list[str] = []
        paths = tree.files(tests=False)
        texts = {path: tree.read(path) for path in paths}
        self._places = [
            (path, place.qualname) for path in paths for place in code.functions(texts[path])
        ]
        self._random.shuffle(self._places)

    def plant(self, kind: str, number: int) -> Task | None:
        """Plant one task of a kind, or return None if no rule of it fits any function."""
        rules: Sequence[code.Rule | None] = code.RULES.get(kind, (None,))
        turn = number % len(rules)
        for rule in [*rules[turn:], *rules[:turn]]:
            name = "removed_tests" if rule is None else rule.__name__
            for path, qualname in self._places:
                key = name, path, qualname
                if key in self._refused or key[1:] in self._used or self._tried[name] >= TRIALS:
                    continue
                task = {"kind": kind, "rule": name, "path": path, "function": qualname}
                if self._without_tests(task) if rule is None else self._planted(task, rule):
                    self._used.add((path, qualname))
                    return {"package": self._tree.root.name, **task}
                self._refused.add(key)
        return None

    def _planted(self, task: Task, rule: code.Rule) -> bool:
        tree, path = self._tree, task["path"]
        before = tree.read(path)
        node = code.function_at(before, task["function"])
        if (after := rule(before, node)) is None:
            return False
        found = tree.findings(path)
        errors = tree.type_errors(path) if task["kind"] == "types" else Counter[str]()
        tree.write(path, after)
        new = Counter(each for each, _ in tree.findings(path)) - Counter(each for each, _ in found)
        expected = {CODES[task["rule"]]} if task["kind"] == "lint" else set()
        is_good = {each for each in new if not each.startswith(_SAME)} == expected
        if task["kind"] == "lint" and is_good:
            is_good = tree.passes() and all(map(self._holds, self._removed))
            self._tried[task["rule"]] += not is_good
        if not is_good:
            tree.write(path, before)
            return False
        task["truth"] = code.source_of(before, node)
        task["planted"] = code.source_of(after, code.function_at(after, task["function"]))
        task["errors"] = dict(errors)
        return True

    def _without_tests(self, task: Task) -> bool:
        """Remove the tests of a function of a module that nothing else of the package calls.

        Methods are left out: `-o test` takes each test that makes an object for a test of all
        methods of its class, so it has no job for one.
        """
        tree, path, name = self._tree, task["path"], task["function"]
        own = [ast.parse(tree.read(each)) for each in tree.files(tests=False)]
        names = [each.id for file in own for each in ast.walk(file) if isinstance(each, ast.Name)]
        if "." in name or name.startswith("_") or name in names:
            return False
        files = {each: tree.read(each) for each in tree.files(tests=True)}
        tests = [
            (file, place)
            for file, text in files.items()
            for place in code.functions(text)
            if code.mentions(place.node, name)
        ]
        faulty = code.mutants(tree.read(path), name, MUTANTS)
        if len(faulty) < 2 or not 0 < len(tests) <= 3 * MOST_TESTS:
            return False
        file = tests[0][0]
        movable = code.movable_tests(files[file], name)
        chosen = sorted(movable, key=lambda place: -len(ast.unparse(place.node)))[:MOST_TESTS]
        ids = [f"{file}::{place.qualname.replace('.', '::')}" for place in chosen]
        if detected(tree, path, faulty, ids) * 2 < len(faulty):
            return False
        left = {
            each: code.without_functions(
                files[each], {place.node.name for where, place in tests if where == each}
            )
            for each, _ in tests
        }
        known = [name for each in left for name, _ in tree.findings(each)]
        for each, text in left.items():
            tree.write(each, text)
            tree.drop_imports(each)
        new = [name for each in left for name, _ in tree.findings(each)]
        is_left = any(code.mentions(ast.parse(text), name) for text in left.values())
        if len(new) > len(known) or is_left or not tree.passes():
            for each in left:
                tree.write(each, files[each])
            return False
        task["truth"] = code.as_own_tests(
            files[file], chosen, f"Test{name.title()}".replace("_", "")
        )
        task["mutants"] = len(faulty)
        self._removed.append(task["truth"])
        return True

    def _holds(self, tests: str) -> bool:
        """Return True if tests that were removed would still pass."""
        path = "test_removed.py"
        self._tree.write(path, tests)
        try:
            return self._tree.passes(path)
        finally:
            (self._tree.root / path).unlink()


def detected(tree: Tree, path: str, faulty: list[str], tests: Sequence[str]) -> int:
    """Return how many versions of a file some tests detect, or -1 if they fail without a fault."""
    if not tests or not tree.passes(*tests):
        return -1
    before = tree.read(path)
    found = 0
    for text in faulty:
        tree.write(path, text)
        found += not tree.passes(*tests)
    tree.write(path, before)
    return found


def prepare(folder: Path, packages: Sequence[Path], seed: int) -> list[Task]:
    """Plant all tasks in copies of some packages, and write what is hidden beside them."""
    listed = Path(__file__).with_name("development_packages.txt").read_text().split()
    if known := {package.name for package in packages} & {*listed}:
        raise SystemExit(f"used during development: {', '.join(known)}")
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        trees = [Tree.copied(package, Path(place, package.name)) for package in packages]
        for tree in trees:
            if not tree.passes():
                raise SystemExit(f"{tree.root.name}: its tests do not pass")
        tasks = plant_all([Planter(tree, seed) for tree in trees])
        for tree in trees:
            Tree.moved(committed(tree.root, folder), tree.root)
    (folder / "tasks.json").write_text(json.dumps(tasks, indent=1))
    return tasks


def plant_all(planters: Sequence[Planter]) -> list[Task]:
    """Plant tasks of all kinds. A kind also gets those that there are no functions for before."""
    tasks: list[Task] = []
    missing = 0
    for kind, count in QUOTA.items():
        for number in range(count + missing):
            if (task := plant_one(planters, kind, number)) is None:
                missing += count - number
                break
            print(" ".join(str(task[name]) for name in NAMES), flush=True)
            tasks.append(task)
        else:
            missing = 0
    if missing:
        raise SystemExit(f"no functions for {missing} tasks")
    return tasks


def plant_one(planters: Sequence[Planter], kind: str, number: int) -> Task | None:
    """Plant a task in the package whose turn it is, or in the next one that has a function for it."""
    turn = number % len(planters)
    for planter in [*planters[turn:], *planters[:turn]]:
        task = planter.plant(kind, number + 2 * (number // len(planters)))
        if task is not None:
            return task
    return None
