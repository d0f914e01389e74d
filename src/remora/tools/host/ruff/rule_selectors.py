"""Selectors of rules, such as `E4`, as ruff reads them."""

from collections.abc import Iterable
from functools import lru_cache

from remora.tools.host.ruff.rule_codes import all_rules

_Texts = tuple[str, ...]
_ALL = "ALL"
_GROUPS = {"C": ("C4", "C90"), "T": ("T10", "T20"), "TCH": ("TC",), "PGH": ("PGH",)}
"""Selectors that are not a beginning of the codes that they select."""


def expand(selectors: Iterable[str], left_out: Iterable[str], codes: Iterable[str]) -> list[str]:
    """Return the codes that are selected. Of two selectors, the longer one counts."""
    return [*_expand(tuple(selectors), tuple(left_out), tuple(codes))]


def unknown_selectors(selectors: Iterable[str]) -> list[str]:
    """Return the selectors that do not select any rule of the bundled ruff."""
    known = [each.code for each in all_rules() if each.code]
    return [
        each
        for each in selectors
        if known and not any(_fits(code, part) for code in known for part in _expanded([each]))
    ]


@lru_cache(maxsize=16)
def _expand(selectors: _Texts, left_out: _Texts, codes: _Texts) -> _Texts:
    names = {each.name: each.code for each in all_rules() if each.code}
    on, off = (
        [names.get(each, each) for each in _expanded(group)] for group in (selectors, left_out)
    )
    return tuple(code for code in codes if _specificity(code, on) > _specificity(code, off))


def _expanded(selectors: Iterable[str]) -> Iterable[str]:
    for each in selectors:
        yield from _GROUPS.get(each, (each,))


def _specificity(code: str, selectors: Iterable[str]) -> int:
    """Return the length of the longest selector that fits a code, or -1 if none does."""
    lengths = (0 if each == _ALL else len(each) for each in selectors if _fits(code, each))
    return max(lengths, default=-1)


def _fits(code: str, selector: str) -> bool:
    """Return True if a selector is the code, its linter's letters, or these and some digits."""
    if selector == _ALL:
        return True
    letters = code.rstrip("0123456789")
    return (code.startswith(selector) and len(selector) >= len(letters)) or (
        letters.startswith("PL") and selector == "PL"
    )
