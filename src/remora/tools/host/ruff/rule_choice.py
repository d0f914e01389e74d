"""The rules to check where a project does not select them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from remora.tools.host.ruff.config_files import settings_for
from remora.tools.host.ruff.other_linters import LinterRules, linters_of
from remora.tools.host.ruff.ruff_versions import RuffVersion, ruff_version
from remora.tools.host.ruff.rule_codes import all_rules
from remora.tools.host.ruff.rule_selectors import expand
from remora.tools.host.style_config import configured_width
from remora.tools.tree import ToolTree

CLASSIC = ("E4", "E7", "E9", "F")
"""Ruff's default rules from 0.1 to 0.15."""
_FIRST = ("E", "F")
_MOST_SHOWN = 10
_CLASSIC_SINCE, _WIDE_SINCE = (0, 1, 0), (0, 16, 0)


class RuleChoice(NamedTuple):
    """Options of `ruff check`, and a text such as `E4, F, because the project uses ruff 0.14.0`.

    Both are empty if the project selects its rules, or uses the defaults of a recent ruff.
    """

    options: tuple[str, ...] = ()
    text: str = ""
    oldest_minor: int | None = None
    """The minor version of the oldest Python 3 that a tool of the project may write for."""


def rule_choice(place: ToolTree, path: str) -> RuleChoice:
    """Return the rules to check in a file or folder.

    Rules that the project's ruff configuration selects are used as they are, except for those that
    are newer than the ruff that the project pins. Without a selection, the rules are the defaults of
    the ruff that the project uses, or those of its other linters, or else ruff's defaults before
    0.16, because later ones are too many for a project that did not choose them.
    """
    settings = settings_for(place, path)
    used = ruff_version(place)
    if settings is None:
        return _unconfigured(place, path, used)
    if _values(settings, "select") is not None:
        return RuleChoice(_without_newer(settings, used))
    added = _values(settings, "extend-select") or []
    defaults = _defaults(used)
    if defaults is None:
        return RuleChoice(_without_newer(settings, used))
    left_out = [*(_values(settings, "ignore") or []), *(_values(settings, "extend-ignore") or [])]
    known = _known_codes(used, preview=_has_preview(settings))
    codes = expand([*defaults, *added], left_out, known)
    text = f"{_shown([*defaults, *added])}, because the project "
    text += f"uses ruff {used}" if used else "does not say which ruff it uses"
    return RuleChoice(("--select", ",".join(codes or [*defaults, *added])), text)


def _unconfigured(place: ToolTree, path: str, used: RuffVersion | None) -> RuleChoice:
    linters = linters_of(place)
    runs_flake8 = any(each.tool.startswith("flake8") for each in linters)
    tools = [each.tool for each in linters]
    first: Sequence[str] = ()
    if not runs_flake8:
        defaults = _defaults(used)
        if defaults is None:
            families = ",".join(code for each in linters for code in each.selected)
            extra = ("--extend-select", families) if families else ()
            return RuleChoice((*extra, *_without_newer([], used), *_other(place, path, linters)))
        first, tools = defaults, [*([f"ruff {used}"] if used else []), *tools]
    selectors = list(dict.fromkeys([*first, *(c for each in linters for c in each.selected)]))
    left_out = [code for each in linters for code in each.ignored]
    codes = expand(selectors, left_out, _known_codes(used, preview=False))
    reason = f"uses {' and '.join(tools)}" if tools else "does not choose any"
    return RuleChoice(
        ("--select", ",".join(codes or selectors), *_other(place, path, linters)),
        f"{_shown(selectors)}, because the project {reason}",
        next((each.oldest_minor for each in linters if each.oldest_minor is not None), None),
    )


def _shown(selectors: Iterable[str]) -> str:
    every = list(dict.fromkeys(selectors))
    more = f" and {len(every) - _MOST_SHOWN} more" if len(every) > _MOST_SHOWN else ""
    return ", ".join(every[:_MOST_SHOWN]) + more


def _other(place: ToolTree, path: str, linters: Iterable[LinterRules]) -> tuple[str, ...]:
    """Return the options that are not about rules: the line length, and settings of linters."""
    width = configured_width(place, path)
    own = [word for each in linters for word in each.options]
    return ("--line-length", str(width), *own) if width else tuple(own)


def _defaults(used: RuffVersion | None) -> Sequence[str] | None:
    """Return the default rules of a version, or None if they are those of the bundled ruff."""
    if used is None or _CLASSIC_SINCE <= used.number < _WIDE_SINCE:
        return CLASSIC
    return _FIRST if used.number < _CLASSIC_SINCE else None


def _without_newer(settings: Sequence[dict[str, Any]], used: RuffVersion | None) -> tuple[str, ...]:
    """Return the options that leave out the rules that the pinned ruff does not have.

    Rules that are selected by their own code or name stay.
    """
    if used is None or not used.is_exact:
        return ()
    chosen = {*(_values(settings, "select") or []), *(_values(settings, "extend-select") or [])}
    preview = _has_preview(settings)
    known = {*_known_codes(used, preview=preview)}
    newer = [
        each.code
        for each in all_rules()
        if each.code
        and (each.is_stable or (preview and each.is_preview))
        and each.code not in known
        and chosen.isdisjoint({each.code, each.name})
    ]
    return ("--ignore", ",".join(newer)) if newer else ()


def _known_codes(used: RuffVersion | None, *, preview: bool) -> Iterator[str]:
    """Yield the codes of the rules that a version of ruff checks if they are selected.

    In preview mode, a rule that has become stable later may have been there before.
    """
    exact = used.number if used is not None and used.is_exact else None
    for rule in all_rules():
        if rule.code is None or not (rule.is_stable or (preview and rule.is_preview)):
            continue
        may_be_older = preview and rule.is_stable
        if exact is None or rule.since <= exact or may_be_older:
            yield rule.code


def _has_preview(settings: Sequence[dict[str, Any]]) -> bool:
    tables = (table for each in settings for table in (each, _lint(each)))
    return any(table.get("preview") is True for table in tables)


def _values(settings: Sequence[dict[str, Any]], key: str) -> list[str] | None:
    """Return the values of a setting in a configuration and those that it extends, or None."""
    found = [
        table[key]
        for each in settings
        for table in (each, _lint(each))
        if isinstance(table.get(key), list)
    ]
    return [str(value) for values in found for value in values] if found else None


def _lint(settings: dict[str, Any]) -> dict[str, Any]:
    lint = settings.get("lint")
    return lint if isinstance(lint, dict) else {}
