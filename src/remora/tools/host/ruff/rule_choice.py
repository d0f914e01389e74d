"""The rules to check where a project does not select them."""

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from remora.tools.host.ruff.config_files import settings_for
from remora.tools.host.ruff.ruff_versions import RuffVersion, ruff_version
from remora.tools.host.ruff.rule_codes import all_rules
from remora.tools.host.ruff.rule_selectors import expand
from remora.tools.tree import ToolTree

CLASSIC = ("E4", "E7", "E9", "F")
"""Ruff's default rules from 0.1 to 0.15."""
_FIRST = ("E", "F")
_CLASSIC_SINCE, _WIDE_SINCE = (0, 1, 0), (0, 16, 0)
_MOST_SHOWN = 10


class RuleChoice(NamedTuple):
    """Options of `ruff check`, and a text such as `E4, F, because the project uses ruff 0.14.0`.

    The text is empty if the project selects its rules.
    """

    options: tuple[str, ...] = ()
    text: str = ""


def rule_choice(place: ToolTree, path: str) -> RuleChoice:
    """Return the rules to check in a file or folder.

    A project that pins an older ruff gets only rules that this version has, and its default rules
    if it does not select others. All other projects get the rules that ruff checks by itself.
    """
    settings = settings_for(place, path)
    used = ruff_version(place)
    defaults = _defaults(used)
    if _values(settings or [], "select"):
        return RuleChoice(_without_newer(settings or [], used))
    if used is None or defaults is None:
        text = f"the defaults of ruff {version('ruff')}, because the project does not select any"
        return RuleChoice(_without_newer(settings or [], used), text)
    selectors = [*defaults, *_values(settings or [], "extend-select")]
    left_out = [*_values(settings or [], "ignore"), *_values(settings or [], "extend-ignore")]
    left_out += _newer_codes(settings or [], used)
    # not single codes: pydocstyle's convention applies only to rules that a prefix selects
    options = [
        "--select",
        ",".join(selectors),
        *(["--ignore", ",".join(left_out)] if left_out else []),
    ]
    return RuleChoice(tuple(options), f"{_shown(selectors)}, because the project uses ruff {used}")


class SelectedRules:
    """The rules that a project selects itself, not because they are defaults of ruff."""

    def __init__(self, place: ToolTree) -> None:
        self._place = place
        self._selectors: dict[str, list[str]] = {}

    def contain(self, path: str, code: str) -> bool:
        """Return True if a rule is selected for a file."""
        folder = path.rpartition("/")[0]
        if folder not in self._selectors:
            settings = settings_for(self._place, path) or []
            chosen = [*_values(settings, "select"), *_values(settings, "extend-select")]
            self._selectors[folder] = chosen
        return bool(expand(self._selectors[folder], (), [code]))


def _shown(selectors: Iterable[str]) -> str:
    every = list(dict.fromkeys(selectors))
    more = f" and {len(every) - _MOST_SHOWN} more" if len(every) > _MOST_SHOWN else ""
    return ", ".join(every[:_MOST_SHOWN]) + more


def _defaults(used: RuffVersion | None) -> Sequence[str] | None:
    """Return the default rules of a version, or None if they are those of the bundled ruff."""
    if used is None or used.has(_WIDE_SINCE):
        return None
    return CLASSIC if used.has(_CLASSIC_SINCE) else _FIRST


def _without_newer(settings: Sequence[dict[str, Any]], used: RuffVersion | None) -> tuple[str, ...]:
    """Return the options that leave out the rules that the pinned ruff does not have."""
    newer = [] if used is None else _newer_codes(settings, used)
    return ("--ignore", ",".join(newer)) if newer else ()


def _newer_codes(settings: Sequence[dict[str, Any]], used: RuffVersion) -> list[str]:
    """Return the rules that a version of ruff does not have.

    Rules that are selected by their own code or name are not returned.
    """
    chosen = {*_values(settings, "select"), *_values(settings, "extend-select")}
    preview = _has_preview(settings)
    known = {*_known_codes(used, preview=preview)}
    return [
        each.code
        for each in all_rules()
        if each.code
        and (each.is_stable or (preview and each.is_preview))
        and each.code not in known
        and chosen.isdisjoint({each.code, each.name})
    ]


def _known_codes(used: RuffVersion, *, preview: bool) -> Iterator[str]:
    """Yield the codes of the rules that a version of ruff checks if they are selected.

    In preview mode, a rule that has become stable later may have been there before.
    """
    for rule in all_rules():
        if rule.code is None or not (rule.is_stable or (preview and rule.is_preview)):
            continue
        if used.has(rule.since) or (preview and rule.is_stable):
            yield rule.code


def _has_preview(settings: Sequence[dict[str, Any]]) -> bool:
    tables = (table for each in settings for table in (each, _lint(each)))
    return any(table.get("preview") is True for table in tables)


def _values(settings: Sequence[dict[str, Any]], key: str) -> list[str]:
    """Return the values of a setting in a configuration and in those that it extends."""
    return [
        str(value)
        for each in settings
        for table in (each, _lint(each))
        if isinstance(table.get(key), list)
        for value in table[key]
    ]


def _lint(settings: dict[str, Any]) -> dict[str, Any]:
    lint = settings.get("lint")
    return lint if isinstance(lint, dict) else {}
