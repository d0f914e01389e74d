"""What other annotations say: types of equal names, and what a project leaves out on purpose."""

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from remora.operations.types.facts.evidence import Evidence
from remora.operations.types.source.project_index import Function, ProjectIndex
from remora.operations.types.source.slots import RETURN, is_overload
from remora.operations.types.source.terms import without_none

PRIORS = Path(__file__).with_name("name_priors.json")
_MIN_SHARE = 0.05


class NamePriors(msgspec.Struct, frozen=True):
    """How often a name has a type in well-typed packages.

    `parameters` and `results` map a name, or the first or last word of a name such as `is_` or
    `_path`, to types and their share from 0 to 1.
    """

    packages: list[str]
    parameters: Mapping[str, Mapping[str, float]]
    results: Mapping[str, Mapping[str, float]]

    def of(self, function: Function, name: str) -> Mapping[str, float]:
        """Return the shares of types for a slot, or an empty mapping."""
        table = self.results if name == RETURN else self.parameters
        known = function.short if name == RETURN else name
        return next((table[key] for key in name_keys(known) if key in table), {})


@functools.cache
def name_priors() -> NamePriors:
    return msgspec.json.decode(PRIORS.read_bytes(), type=NamePriors)


def name_keys(name: str) -> list[str]:
    """Return the name and its words as keys, the most specific first."""
    words = name.strip("_").split("_")
    return [name, f"_{words[-1]}", f"{words[0]}_"] if len(words) > 1 else [name]


class Siblings:
    """Annotations by name: in the same class, file and project, and in other packages."""

    def __init__(self, index: ProjectIndex, priors: NamePriors | None = None) -> None:
        self.index = index
        self._priors = priors or name_priors()
        self._tables: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        written = total = 0
        for function in index.every_function():
            terms = dict(function.terms())
            if is_overload(function.node):
                continue
            total += len(function.parameters) + 1
            written += len(terms)
            for name, term in terms.items():
                plain = without_none(term) if name != RETURN else term
                for scope, place in _scopes(function):
                    self._tables[scope, place, _key(function, name)][plain] += 1
        self.density = written / max(total, 1)
        """Share of the annotations of the project that are written."""

    def evidence(self, function: Function, name: str) -> Iterator[Evidence]:
        """Yield the most frequent annotation of the name in each scope."""
        key = _key(function, name)
        for scope, place in _scopes(function):
            table = self._tables.get((scope, place, key))
            if table:
                term, count = table.most_common(1)[0]
                yield Evidence(scope, term, count, count / table.total())

    def priors(self, function: Function, name: str) -> list[Evidence]:
        """Return the types that the name usually has elsewhere, most frequent first."""
        shares = self._priors.of(function, name)
        ranked = sorted(shares.items(), key=lambda each: -each[1])
        return [Evidence("prior", term, 1, share) for term, share in ranked if share >= _MIN_SHARE][
            :3
        ]


def _scopes(function: Function) -> list[tuple[str, str]]:
    owner = f"{function.path}:{function.owner.name}" if function.owner else ""
    scopes = [("same_file", function.path), ("same_project", "")]
    return [("same_class", owner), *scopes] if owner else scopes


def _key(function: Function, name: str) -> str:
    return f"{function.short}()" if name == RETURN else name


def bucket(share: float) -> str:
    """Return a share from 0 to 1 as one of a few words."""
    return str(min(math.floor(share * 5), 4))


_LEAST = 2


class Habits:
    """How often functions with other annotations have none of a result or `**kwargs`, by kind."""

    def __init__(self, index: ProjectIndex) -> None:
        self._annotated: Counter[str] = Counter()
        self._bare: Counter[str] = Counter()
        for function in index.every_function():
            if any(each.term for each in function.parameters):
                kind = _kind(function)
                self._annotated[kind] += 1
                self._bare[kind] += not function.returns
            if any(function.terms()):
                for each in function.parameters:
                    if each.kind != "parameter":
                        self._annotated[each.kind] += 1
                        self._bare[each.kind] += not each.term

    def omits(self, function: Function, name: str) -> bool:
        """Return True if the project mostly leaves out such results or star parameters."""
        parameter = function.parameter(name)
        kind = _kind(function) if name == RETURN else parameter.kind if parameter else ""
        total = self._annotated[kind]
        is_habit = total >= _LEAST and self._bare[kind] * 2 >= total
        return bool(kind) and kind != "parameter" and is_habit


def _kind(function: Function) -> str:
    """Return the name of a special method, `nested`, or an empty string."""
    if function.owner is None:
        return "nested" if "." in function.name else ""
    is_special = function.short.startswith("__") and function.short.endswith("__")
    return function.short if is_special else ""
