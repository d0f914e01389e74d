"""Share of missing annotations that the types operation writes, and how many are exactly right.

Usage: python bench/types_accuracy.py [PACKAGE...]. All annotations of a package and its tests are
removed at once. Of the written ones, those that equal the removed one are right.
"""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from types_packages import EVALUATION, package_texts, stripped, true_types
from types_tests import test_environment, tests_of

from remora.judges.types.terms import same
from remora.judges.types.type_checker import TypeChecker
from remora.operations.types.inference import Inference
from remora.tools.host.declared_type_checker import find_checker
from remora.tools.host.module_names import module_name

_MINOR = 10


class Score(NamedTuple):
    """Counts of slots, of written slots, of those that are exactly right, and of new diagnostics.

    `broken` counts modules that cannot be imported any more.
    """

    slots: int
    written: int
    right: int
    ty: int
    mypy: int = 0
    broken: int = 0

    def __add__(self, other: object) -> "Score":
        assert isinstance(other, Score)
        return Score(*(a + b for a, b in zip(self, other, strict=True)))

    def __str__(self) -> str:
        reach, precision = self.written / max(self.slots, 1), self.right / max(self.written, 1)
        return (
            f"{self.slots:5} slots  {reach:6.1%} written  {precision:6.1%} right  "
            f"{self.ty} new of ty, {self.mypy} of mypy, {self.broken} modules broken"
        )


def score(package: str) -> Score:
    """Remove annotations from a package, let the operation write them, and count."""
    texts = package_texts(package)
    truth = true_types(texts)
    bare = stripped(texts, lambda _: True) | stripped(tests_of(package), lambda _: True)
    mypy = find_checker(None, {}, None, texts)
    assert mypy is not None
    with closing(TypeChecker(bare, {}, minor=_MINOR)) as checker:
        inference = Inference(bare, checker, _MINOR)
        inference.run(inference.slots(texts))
        inference.settle_with(inference.project.adding(mypy.check, mypy.question))
        found = inference.annotations
        after = inference.project.texts(found)
        changed = {path: text for path, text in after.items() if text != bare[path]}
        of_ty = inference.project.added_by_texts(changed)
        of_mypy = inference.project.adding(mypy.check, "")(found)
    known = {
        key: term
        for (path, slot), term in found.items()
        if (key := (path, slot.number, slot.name)) in truth
    }
    right = sum(same(term, truth[key]) for key, term in known.items())
    broken = _imported(package, bare, texts) - _imported(package, after, texts)
    return Score(len(truth), len(known), right, len(of_ty), len(of_mypy), len(broken))


def _imported(package: str, texts: Mapping[str, str], paths: Mapping[str, str]) -> set[str]:
    """Return those modules of a package that can be imported."""
    python = test_environment(package)
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        for path, text in texts.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        for name in filter(None, map(module_name, paths)):
            command = [str(python), "-c", f"import {name}"]
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
            found |= set() if done.returncode else {name}
    return found


def main(packages: list[str]) -> None:
    total = Score(0, 0, 0, 0)
    for package in packages or EVALUATION:
        found = score(package)
        total += found
        print(f"{package:16} {found}", flush=True)
    print(f"{'all':16} {total}")


if __name__ == "__main__":
    main(sys.argv[1:])
