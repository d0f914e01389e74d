"""The rules that the bundled ruff knows, and selectors of rules such as `E4`."""

import subprocess
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

import msgspec
from ruff import find_ruff_bin  # type: ignore[import-untyped]

from remora.tools.host.ruff.ruff_versions import Version, version_of

_TIMEOUT_S = 20.0
_STABLE, _PREVIEW = "Stable", "Preview"
_Texts = tuple[str, ...]
_ALL = "ALL"
_GROUPS = {"C": ("C4", "C90"), "T": ("T10", "T20"), "TCH": ("TC",), "PGH": ("PGH",)}
"""Selectors that are not a beginning of the codes that they select."""


class _Since(msgspec.Struct):
    since: str = ""


class Rule(msgspec.Struct):
    """A rule, as ruff lists it. Rules in development have no code."""

    code: str | None
    name: str = ""
    status: Mapping[str, _Since] = {}

    @property
    def is_stable(self) -> bool:
        return _STABLE in self.status

    @property
    def is_preview(self) -> bool:
        return _PREVIEW in self.status

    @property
    def since(self) -> Version:
        """The version of ruff that has the rule in its present status, or (0, 0, 0)."""
        return next((version_of(release.since) for release in self.status.values()), (0, 0, 0))


def with_name(code: str) -> str:
    """Return a code with the name of its rule, such as `F401 unused-import`, or as it is."""
    return next((f"{code} {rule.name}" for rule in all_rules() if rule.code == code), code)


def rule_codes() -> frozenset[str]:
    """Return the codes of all rules, or an empty set if ruff cannot list them."""
    return frozenset(rule.code for rule in all_rules() if rule.code)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return all rules, or an empty tuple if ruff cannot list them."""
    words = [find_ruff_bin(), "rule", "--all", "--output-format", "json"]
    try:
        listed = subprocess.run(
            words, capture_output=True, timeout=_TIMEOUT_S, check=True, cwd="/", env={}
        )
        return msgspec.json.decode(listed.stdout, type=tuple[Rule, ...])
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        return ()


def expand(selectors: Iterable[str], left_out: Iterable[str], codes: Iterable[str]) -> list[str]:
    """Return the codes that are selected. Of two selectors, the longer one counts."""
    return [*_expand(tuple(selectors), tuple(left_out), tuple(codes))]


def unknown_selectors(selectors: Iterable[str]) -> list[str]:
    """Return the selectors that do not select any rule of the bundled ruff."""
    known = [rule.code for rule in all_rules() if rule.code]
    return [
        selector
        for selector in selectors
        if known and not any(_fits(code, part) for code in known for part in _expanded([selector]))
    ]


@lru_cache(maxsize=16)
def _expand(selectors: _Texts, left_out: _Texts, codes: _Texts) -> _Texts:
    names = {rule.name: rule.code for rule in all_rules() if rule.code}
    on, off = (
        [names.get(part, part) for part in _expanded(group)] for group in (selectors, left_out)
    )
    return tuple(code for code in codes if _specificity(code, on) > _specificity(code, off))


def _expanded(selectors: Iterable[str]) -> Iterable[str]:
    for selector in selectors:
        yield from _GROUPS.get(selector, (selector,))


def _specificity(code: str, selectors: Iterable[str]) -> int:
    """Return the length of the longest selector that fits a code, or -1 if none does."""
    lengths = (
        0 if selector == _ALL else len(selector) for selector in selectors if _fits(code, selector)
    )
    return max(lengths, default=-1)


def _fits(code: str, selector: str) -> bool:
    """Return True if a selector is the code, its linter's letters, or these and some digits."""
    if selector == _ALL:
        return True
    letters = code.rstrip("0123456789")
    return (code.startswith(selector) and len(selector) >= len(letters)) or (
        letters.startswith("PL") and selector == "PL"
    )
