"""The rules to check: those that the user or the project selects, or defaults."""

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from remora.text import some_of
from remora.tools.file_tree import FileTree
from remora.tools.host.declared_type_checker import settings_texts
from remora.tools.host.ruff.config_files import settings_for
from remora.tools.host.ruff.import_style import tool_settings
from remora.tools.host.ruff.ruff_versions import Version, ruff_use
from remora.tools.host.ruff.rules import all_rules, expand, rule_codes, unknown_selectors

CLASSIC = ("E4", "E7", "E9", "F")
"""Ruff's default rules before 0.16."""
SELECT, IGNORE = ("select", "extend-select"), ("ignore", "extend-ignore")
DEFAULT = "default"
"""A selector of the rules that `ruff check` checks in a project."""
TASTE = (
    "I", "RUF022", "RUF023",  # order
    "RUF10",  # comments that suppress findings, maybe of another linter
    "ISC004", "PLR2044", "PLW0120", "RET501",  # layout
    "B009", "B010", "C408", "C417", "FLY", "FURB", "G010", "PIE8", "PLC0208", "PLR0402", "PLR1711",
    "PLR1716", "PLR173", "PLR5501", "PYI041", "RUF007", "RUF010", "RUF015", "RUF017", "RUF019", "RUF046", "RUF051",
    "RUF059", "SIM10", "SIM114", "SIM117", "SIM118", "SIM20", "SIM21", "SIM4", "SIM9", "UP009", "UP012",
    "UP013", "UP014", "UP015", "UP039",  # another spelling
)  # fmt: skip
"""Default rules of ruff that only sort, lay out or rephrase code that is right.

AI models that read such fixes as maintainers would rejected them.
"""
_IMPORT_ORDER = "I001"
ORDER = (_IMPORT_ORDER, "RUF022", "RUF023")
ONLY_BY_CODE = ("B904", "PLR0402", "Q00", "RET501", "RET502", "RET503", "RET505", "RET506", "RET507", "RET508",
                 "RUF010", "RUF021", "RUF10", "SIM905", "T201", "T203", "UP015", "UP039")  # fmt: skip
"""Rules that `--select` takes only by their own codes.

They remove `noqa` comments and calls, or replace a habit of authors: quotes, forms of `return`,
`import a.b as b`, `open(path, "r")`, `class A():`, `{str(e)}`, `"a b".split()`, and `and` beside
`or` without parentheses. Which cause an exception has (B904) differs from place to place.

Those of order, which may have a meaning, are such rules unless the project selects them.
"""
_STR = "RUF010"
"""Of `{str(path)}`, this rule makes `{path!s}`, which says no more than `{path}`."""
_WIDE_SINCE = (0, 16, 0)
_FLAKE8_HOOK = re.compile(r"^\s*-?\s*id:\s*flake8\b", re.MULTILINE)
_NOQA_LINTERS = {
    r"flake8[\w-]*|pep8-naming|wemake-python-styleguide|hacking|pylama|prospector": ("",),
    "autopep8|pep8|pycodestyle": ("E", "W"),
    "pydocstyle": ("D",),
}
"""Linters that read `noqa`, with the beginnings of their codes."""
_ALSO_NAMED_IN = ("setup.py", "Pipfile")
"""Files that name linters beside those of a type checker."""
_PATTERN = re.compile(r"(?=.*\w)(?:[\w./-]|(?<!\*)\*)+")
_MOST_SHOWN = 10


def selectors_in(texts: Iterable[str]) -> list[str]:
    """Return the selectors in comma-separated texts. Raises ValueError if ruff does not know one."""
    selectors = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    unknown = unknown_selectors(selector for selector in selectors if selector != DEFAULT)
    if unknown:
        raise ValueError(
            f"expected rules of ruff {version('ruff')}, such as F401, UP, ALL or {DEFAULT}, "
            f"not {unknown[0]!r}"
        )
    return selectors


class RuleChoice(NamedTuple):
    """The rules that ruff checks."""

    options: tuple[str, ...] = ()
    """Options of `ruff check`."""
    text: str = ""
    """Which rules, such as `E4, F, because the project uses ruff 0.14.0`.

    It is empty if the project selects its rules.
    """


def rule_choice(place: FileTree, path: str, selected: Sequence[str]) -> RuleChoice:
    """Return the rules to check in a file or folder.

    The rules that the user selects come first, without those that only their own codes select. A
    project that pins an older ruff gets only rules that this version has, and its default rules if
    it does not select others. One without ruff that uses flake8 gets the rules that flake8 has by
    default. Another one that does not select rules gets the defaults of ruff, without those of taste
    unless it pins a version that has them.
    """
    if not selected:
        return _of_project(place, path, has_taste=False)
    added = [selector for selector in selected if selector != DEFAULT]
    held_back = _held_back(place, path, added)
    text = f"{_shown(added)}, as selected"
    why = "of taste, or ignored by the project; their own codes select them"
    text += f", without {_shown(held_back)} ({why})" if held_back else ""
    if DEFAULT not in selected:
        return RuleChoice(("--select", ",".join(added), *_ignoring(held_back)), text)
    chosen = _of_project(place, path, has_taste=True)
    is_wanted = _STR in added or SelectedRules(place, ()).contain(path, _STR)
    shown = chosen.options if is_wanted else (*chosen.options, *_ignoring([_STR]))
    if not added:
        return chosen._replace(options=shown)
    options = (*shown, "--extend-select", ",".join(added), *_ignoring(held_back))
    return RuleChoice(options, f"{text}, and {chosen.text or 'those that the project selects'}")


def _held_back(place: FileTree, path: str, selected: Sequence[str]) -> list[str]:
    """Return the rules that prefixes select, but that the project ignores or that need their code.

    The project ignores them in its settings of ruff or flake8.
    """
    named = {str(rule.code) for rule in all_rules() if {rule.code, rule.name} & set(selected)}
    codes = [code for code in expand(selected, (), sorted(rule_codes())) if code not in named]
    settings = settings_for(place, path)
    ignored = [*setting_values(settings, *IGNORE), *_ignored_by_flake8(place)]
    chosen = setting_values(settings, *SELECT)
    left_out = {*expand([*ignored, *ONLY_BY_CODE], (), codes)}
    order = set(ORDER).intersection(codes).difference(expand(chosen, (), ORDER))
    return sorted(left_out | order)


def uses_flake8(place: FileTree) -> bool:
    """Return True if a project configures flake8, or runs it in pre-commit."""
    hooks = place.text_or_empty(".pre-commit-config.yaml")
    return _FLAKE8_HOOK.search(hooks) is not None or bool([*tool_settings(place, "flake8")])


def noqa_prefixes(place: FileTree) -> tuple[str, ...]:
    """Return the beginnings of the codes for which a linter that the project names needs `noqa`."""
    texts = [text for _, text in settings_texts(place)]
    text = "\n".join([*texts, *map(place.text_or_empty, _ALSO_NAMED_IN)])
    found = {""} if uses_flake8(place) else set[str]()
    for names, prefixes in _NOQA_LINTERS.items():
        if re.search(rf"(?<![\w./-])(?:pytest-)?(?:{names})(?![\w/-])", text):
            found.update(prefixes)
    return tuple(found)


def _ignored_by_flake8(place: FileTree) -> Iterator[str]:
    """Yield the selectors of rules that the project ignores in flake8. Ruff may not know some."""
    for value in _flake8_values(place, "ignore", "extend-ignore"):
        yield from re.findall(r"[A-Z]+\d*", value)


def _excluded_by_flake8(place: FileTree) -> Iterator[str]:
    """Yield the paths and names that flake8 leaves out, but for patterns that ruff may not have."""
    for value in _flake8_values(place, "exclude", "extend-exclude"):
        for path in re.split(r"[,\s]+", value):
            if _PATTERN.fullmatch(path):
                yield path.removeprefix("./").rstrip("/")


def _flake8_values(place: FileTree, *keys: str) -> Iterator[str]:
    """Yield the values of flake8's settings, each as one text without comments."""
    for settings in tool_settings(place, "flake8"):
        for key in keys:
            value = settings.get(key, "")
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            yield re.sub("#.*", "", text)


def _of_project(place: FileTree, path: str, *, has_taste: bool) -> RuleChoice:
    settings = settings_for(place, path)
    use = ruff_use(place)
    used = use.version
    if setting_values(settings, "select"):
        return RuleChoice(_ignoring(_newer_codes(settings, used)))
    if used is None or used >= _WIDE_SINCE:
        text = f"the defaults of ruff {version('ruff')}"
        why = "because the project does not select any"
        if has_taste or (used is not None and (use.is_chosen or settings)):
            left_out = [_IMPORT_ORDER] if [*tool_settings(place, "isort")] else []
            return RuleChoice(_ignoring(left_out + _newer_codes(settings, used)), f"{text}, {why}")
        if used is None and not settings and uses_flake8(place):
            codes = expand([*_ignored_by_flake8(place)], (), sorted(rule_codes()))
            left_out = [f"--extend-exclude={pattern}" for pattern in _excluded_by_flake8(place)]
            text = f"{_shown(CLASSIC)}, because the project uses flake8; --select adds others"
            return RuleChoice(("--select", ",".join(CLASSIC), *_ignoring(codes), *left_out), text)
        left_out = _codes_of_taste(settings)
        text += f" without rules of taste, {why}; --select default adds them"
        return RuleChoice(_ignoring(left_out), text)
    selectors = [*CLASSIC, *setting_values(settings, "extend-select")]
    left_out = setting_values(settings, *IGNORE) + _newer_codes(settings, used)
    # not single codes: pydocstyle's convention applies only to rules that a prefix selects
    options = ("--select", ",".join(selectors), *_ignoring(left_out))
    number = ".".join(map(str, used))
    return RuleChoice(options, f"{_shown(selectors)}, because the project uses ruff {number}")


def _ignoring(codes: Sequence[str]) -> tuple[str, ...]:
    return ("--ignore", ",".join(codes)) if codes else ()


def _codes_of_taste(settings: Sequence[dict[str, Any]]) -> list[str]:
    """Return the rules of taste that the project's settings do not ask for."""
    codes = sorted(rule.code for rule in all_rules() if rule.code)
    added = expand(setting_values(settings, "extend-select"), (), codes)
    return expand(TASTE, added, codes)


class SelectedRules:
    """The rules that the user or the project selects, not because they are defaults of ruff."""

    def __init__(self, place: FileTree, asked: Sequence[str]) -> None:
        self._place = place
        self._asked = asked
        self._selectors: dict[str, list[str]] = {}

    def are_meant(self, path: str, code: str) -> bool:
        """Return True if the user selects a rule by its code, or only the project selects it."""
        if self._asked:
            return code in self._asked or DEFAULT in self._asked
        return self.contain(path, code)

    def contain(self, path: str, code: str) -> bool:
        """Return True if a rule is selected for a file."""
        folder = path.rpartition("/")[0]
        if folder not in self._selectors:
            chosen = [*self._asked]
            if not chosen or DEFAULT in chosen:
                chosen += setting_values(settings_for(self._place, path), *SELECT)
            self._selectors[folder] = chosen
        return bool(expand(self._selectors[folder], (), [code]))


def _shown(selectors: Iterable[str]) -> str:
    return some_of(list(dict.fromkeys(selectors)), _MOST_SHOWN)


def _newer_codes(settings: Sequence[dict[str, Any]], used: Version | None) -> list[str]:
    """Return the rules that the pinned version of ruff does not have.

    Rules that are selected by their own code or name are not returned. In preview mode, a rule that
    has become stable later may have been there before.
    """
    if used is None:
        return []
    chosen = {*setting_values(settings, *SELECT)}
    preview = _has_preview(settings)
    return [
        rule.code
        for rule in all_rules()
        if rule.code and rule.since > used
        if (rule.is_preview if preview else rule.is_stable)
        if chosen.isdisjoint({rule.code, rule.name})
    ]


def _has_preview(settings: Sequence[dict[str, Any]]) -> bool:
    tables = (table for setting in settings for table in (setting, _lint(setting)))
    return any(table.get("preview") is True for table in tables)


def setting_values(settings: Sequence[dict[str, Any]], *keys: str) -> list[str]:
    """Return the values of some settings in a configuration and in those that it extends."""
    return [
        str(value)
        for key in keys
        for setting in settings
        for table in (setting, _lint(setting))
        if isinstance(table.get(key), list)
        for value in table[key]
    ]


def _lint(settings: dict[str, Any]) -> dict[str, Any]:
    lint = settings.get("lint")
    return lint if isinstance(lint, dict) else {}
