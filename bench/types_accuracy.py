"""Share of missing annotations that the types operation writes, and how many are exactly right."""

import random
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from types_packages import EVALUATION, Key, package_texts, stripped, true_types
from types_tests import tests_of

from remora.operations.types.checker.type_checker import TypeChecker
from remora.operations.types.inference import Inference, Settings
from remora.operations.types.ranking.type_candidates import Weights, weights
from remora.operations.types.source.terms import same

_FOLDS = 20
_MINOR = 10
_LOWEST = 0.5


class Score(NamedTuple):
    """Counts of slots, of written slots, of those that are exactly right, and of diagnostics."""

    slots: int
    written: int
    right: int
    diagnostics: int

    def __add__(self, other: object) -> "Score":
        assert isinstance(other, Score)
        return Score(*(a + b for a, b in zip(self, other, strict=True)))

    def __str__(self) -> str:
        reach, precision = self.written / max(self.slots, 1), self.right / max(self.written, 1)
        return f"{self.slots:5} slots  {reach:6.1%} written  {precision:6.1%} right  {self.diagnostics} new"


Wrong = Counter[tuple[str, str, str, str]]


Curve = list[tuple[float, bool]]
"""The probability of each written annotation, and whether it is right."""


def score(
    package: str,
    removed: set[Key],
    wrong: Wrong | None = None,
    curve: Curve | None = None,
    model: Weights | None = None,
) -> Score:
    """Remove annotations from a package, let the operation write them, and count.

    The package's tests are read, without annotations.
    """
    threshold = None if curve is None else _LOWEST
    texts = package_texts(package)
    truth = true_types(texts)
    bare = stripped(texts, removed.__contains__) | stripped(tests_of(package), lambda _: True)
    settings = Settings(minor=_MINOR, threshold=threshold)
    with closing(TypeChecker(bare, {}, minor=_MINOR)) as checker:
        inference = Inference(bare, checker, model or weights(), settings)
        slots = [
            (path, slot)
            for path, slot in inference.slots(bare)
            if (path, slot.number, slot.name) in removed
        ]
        inference.run(slots)
        after = inference.project.texts(inference.annotations)
        added = inference.project.added_by_texts({p: t for p, t in after.items() if t != bare[p]})
    right = 0
    for (path, slot), term in inference.annotations.items():
        true = truth[path, slot.number, slot.name]
        right += same(term, true)
        if curve is not None:
            curve.append((inference.best[path, slot].probability, same(term, true)))
        if wrong is not None and not same(term, true):
            wrong[path, slot.function, slot.name, f"{term}  not  {true}"] += 1
    return Score(len(removed), len(inference.annotations), right, len(added))


def whole(
    package: str,
    wrong: Wrong | None = None,
    curve: Curve | None = None,
    model: Weights | None = None,
) -> Score:
    """All annotations are removed at once."""
    return score(package, set(true_types(package_texts(package))), wrong, curve, model)


def one_by_one(
    package: str,
    folds: int = _FOLDS,
    wrong: Wrong | None = None,
    curve: Curve | None = None,
    model: Weights | None = None,
) -> Score:
    """Each annotation is removed once, together with one in `folds` of the others."""
    keys = sorted(true_types(package_texts(package)))
    random.Random(0).shuffle(keys)
    total = Score(0, 0, 0, 0)
    for number in range(folds):
        total += score(package, set(keys[number::folds]), wrong, curve, model)
    return total


def main(packages: list[str] | None = None) -> None:
    totals = {"whole": Score(0, 0, 0, 0), "one by one": Score(0, 0, 0, 0)}
    for package in packages or EVALUATION:
        for name, measure in (("whole", whole), ("one by one", one_by_one)):
            started = time.process_time()
            found = measure(package)
            totals[name] += found
            print(
                f"{package:16} {name:10} {found}  {time.process_time() - started:.0f} s", flush=True
            )
    for name, total in totals.items():
        print(f"{'all':16} {name:10} {total}")


if __name__ == "__main__":
    main(sys.argv[1:])
