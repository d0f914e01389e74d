"""Make the data files of the types operation: name priors, weights and thresholds.

Usage: python bench/types_weights.py. Packages are downloaded from the package registry once.
"""

import json
import math
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from types_packages import (
    CACHE,
    TRAINING,
    Key,
    package_texts,
    stripped,
    true_types,
)
from types_tests import tests_of

from remora.operations.types.checker.type_checker import TypeChecker
from remora.operations.types.facts.collection import collect
from remora.operations.types.facts.evidence import key_of
from remora.operations.types.inference import MOSTLY_ANNOTATED
from remora.operations.types.ranking.siblings import PRIORS, NamePriors, Siblings, name_keys
from remora.operations.types.ranking.type_candidates import WEIGHTS, Candidate, candidates_for
from remora.operations.types.source.project_index import ProjectIndex
from remora.operations.types.source.slots import RETURN
from remora.operations.types.source.terms import members_of, same, union

_COMMON = frozenset(
    [
        "None",
        "bool",
        "int",
        "str",
        "float",
        "bytes",
        "list",
        "dict",
        "tuple",
        "set",
        "Iterable",
        "Iterator",
        "Sequence",
        "Mapping",
        "Callable",
        "Path",
        "datetime",
        "timedelta",
        "TracebackType",
        "BaseException",
        "type",
        "Pattern",
        "Match",
        "Any",
        "object",
    ]
)
_MIN_PACKAGES = 3
_EPOCHS = 8
_RATE = 0.1
_DECAY = 2e-6


Table = dict[str, dict[str, Counter[str]]]
"""Counts of types, by name and package."""


class Row(NamedTuple):
    """A candidate: its features, and whether it is right. `slot` names its slot."""

    slot: str
    features: list[str]
    is_right: bool


class NameTables:
    """How often each name has each type, by package."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = packages
        self._parameters: Table = defaultdict(lambda: defaultdict(Counter))
        self._results: Table = defaultdict(lambda: defaultdict(Counter))
        for package in packages:
            texts = package_texts(package)
            names = _names(texts)
            for key, term in true_types(texts).items():
                is_result = key[2] == RETURN
                plain = union(each for each in members_of(term) if each != "None") or "None"
                table = self._results if is_result else self._parameters
                for name in name_keys(names[key]):
                    table[name][package][term if is_result else plain] += 1

    def priors(self, without: str = "") -> NamePriors:
        """Return the shares of types by name, for names that several packages have."""
        return NamePriors(
            packages=[each for each in self._packages if each != without],
            parameters=_shares(self._parameters, without),
            results=_shares(self._results, without),
        )


def write_priors(priors: NamePriors) -> None:
    document = {name: getattr(priors, name) for name in priors.__struct_fields__}
    PRIORS.write_text(json.dumps(document, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def _names(texts: dict[str, str]) -> dict[Key, str]:
    index = ProjectIndex(texts)
    return {
        (function.path, function.number, name): function.short if name == RETURN else name
        for function in index.every_function()
        for name in [*(each.name for each in function.parameters), RETURN]
    }


def _shares(tables: Table, without: str) -> dict[str, dict[str, float]]:
    """Return the shares of common types, where each package counts once."""
    found = {}
    for name, every in sorted(tables.items()):
        packages = {package: counts for package, counts in every.items() if package != without}
        if len(packages) < _MIN_PACKAGES:
            continue
        shares: dict[str, float] = defaultdict(float)
        for counts in packages.values():
            for term, count in counts.items():
                shares[term] += count / counts.total() / (len(packages) + 1)
        usual = {
            term: round(share, 2)
            for term, share in sorted(shares.items(), key=lambda each: -each[1])[:3]
            if share >= 0.1 and set(_words(term)) <= _COMMON
        }
        if usual:
            found[name] = usual
    return found


def _words(term: str) -> list[str]:
    return re.findall(r"\w+", term)


class Setting(NamedTuple):
    """A share of annotations to keep, a seed, and whether tests are known."""

    keep: float
    seed: int
    tests: bool


def rows_of(
    package: str, setting: Setting, priors: NamePriors | None = None
) -> Iterator[tuple[Key, str, list[Candidate]]]:
    """Yield each removed slot with its true type and its candidates."""
    texts = package_texts(package)
    truth = true_types(texts)
    generator = random.Random(setting.seed)
    removed = {key for key in truth if generator.random() >= setting.keep}
    bare = stripped(texts, removed.__contains__)
    if setting.tests and package in WITH_TESTS:
        bare |= stripped(tests_of(package), lambda _: True)
    index = ProjectIndex(bare)
    with closing(TypeChecker(bare, {}, minor=None)) as checker:
        evidence = collect(index, checker, {})
    siblings = Siblings(index, priors)
    for path, file in index.files.items():
        for function in file.functions:
            for name in [*(each.name for each in function.parameters), RETURN]:
                key = (path, function.number, name)
                if key in removed:
                    facts = evidence.get(key_of(function, name), [])
                    is_dense = siblings.density > MOSTLY_ANNOTATED
                    usable, _ = candidates_for(function, name, facts, siblings, is_dense=is_dense)
                    yield key, truth[key], usable


THRESHOLDS = {"dense": 0.85, "sparse": 0.82}
"""Least probability of a candidate, where most annotations are written and elsewhere.

At these, 93 % of the best candidates are right in training packages that were left out of the fit.
"""
WITH_TESTS = ("arrow", "attrs", "isort", "jinja2", "structlog", "tomlkit")
"""Packages whose tests run without much preparation."""
SETTINGS = (
    Setting(0.0, 1, False),
    Setting(0.0, 2, True),
    Setting(0.5, 3, True),
    Setting(0.9, 4, False),
    Setting(0.9, 5, True),
)


def training_rows(package: str, tables: NameTables) -> list[Row]:
    """Return the candidates of a package. They are kept in the cache, for another fit."""
    path = CACHE / "rows" / f"{package}.jsonl"
    if not path.exists():
        priors = tables.priors(package)
        rows = []
        for setting in SETTINGS:
            for key, truth, candidates in rows_of(package, setting, priors):
                slot = "/".join(map(str, (package, setting.keep, setting.seed, *key)))
                rows += [
                    Row(slot, sorted(each.features), same(each.term, truth)) for each in candidates
                ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with path.open(encoding="utf-8") as lines:
        return [Row(*json.loads(line)) for line in lines]


def fit(rows: list[Row]) -> tuple[float, dict[str, float]]:
    """Fit a logistic regression by stochastic gradient descent with a rate for each weight."""
    counts = Counter(name for row in rows for name in row.features)
    known = {name for name, count in counts.items() if count >= 20}
    data = [([name for name in row.features if name in known], row.is_right) for row in rows]
    weights: dict[str, float] = dict.fromkeys(known, 0.0)
    squares: dict[str, float] = dict.fromkeys(known, 1.0)
    bias = 0.0
    generator = random.Random(0)
    for _ in range(_EPOCHS):
        generator.shuffle(data)
        for names, is_right in data:
            total = bias + sum(weights[name] for name in names)
            error = 1.0 / (1.0 + math.exp(-max(min(total, 30.0), -30.0))) - is_right
            bias -= 0.01 * error
            for name in names:
                squares[name] += error * error
                rate = _RATE / math.sqrt(squares[name])
                weights[name] -= rate * (error + _DECAY * weights[name] * len(data) / 100)
    return bias, weights


def write_weights(bias: float, weights: dict[str, float], thresholds: dict[str, float]) -> None:
    document = {
        "packages": TRAINING,
        "bias": round(bias, 3),
        "thresholds": thresholds,
        "weights": {
            name: round(value, 3) for name, value in sorted(weights.items()) if abs(value) >= 0.02
        },
    }
    WEIGHTS.write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")


def main() -> None:
    tables = NameTables(TRAINING)
    write_priors(tables.priors())
    rows = []
    for package in TRAINING:
        rows += training_rows(package, tables)
        print(package, len(rows), flush=True)
    bias, weights = fit(rows)
    write_weights(bias, weights, THRESHOLDS)


if __name__ == "__main__":
    main()
