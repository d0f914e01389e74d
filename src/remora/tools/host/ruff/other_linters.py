"""Rules of ruff that belong to the other linters that a project runs."""

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from typing import Any, NamedTuple

import yaml

from remora.tools.host.ruff.rule_selectors import is_selector
from remora.tools.tree import ToolTree

_HOOKS = ".pre-commit-config.yaml"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FLAKE8 = ("E", "W", "F")
_PLUGINS = {
    "flake8-2020": "YTT", "flake8-bugbear": "B", "flake8-builtins": "A",
    "flake8-comprehensions": "C4", "flake8-datetimez": "DTZ", "flake8-debugger": "T10",
    "flake8-docstrings": "D", "flake8-implicit-str-concat": "ISC", "flake8-isort": "I",
    "flake8-logging-format": "G", "flake8-pie": "PIE", "flake8-print": "T20",
    "flake8-raise": "RSE", "flake8-simplify": "SIM", "pep8-naming": "N",
}  # fmt: skip
"""Plugins of flake8 whose codes ruff has, too."""
_OPINIONATED = "B9"
"""Rules of flake8-bugbear that are not on by default."""
_LEAST_WIDTH = 79
_PLUGIN = re.compile(r"(?<![\w-])(flake8-[a-z0-9-]+|pep8-naming)(?![\w-])")
_DEPENDENCIES = ("tox.ini", "setup.cfg", "setup.py", "pyproject.toml", "noxfile.py", _HOOKS)
_REQUIREMENTS = ("*requirements*.txt", "requirements/*.txt")
_COMMAND = re.compile(
    r"^[\s-]*(?:[\w-]+\s*[:=]\s*)?(?:(?:python3?\s+-m|(?:uv|poetry|pdm|hatch|pipenv)\s+run)\s+)*"
    r"flake8((?:[ \t][^\n]*)?)$",
    re.MULTILINE,
)
_COMMANDS = ("tox.ini", "Makefile", ".github/workflows/*.y*ml")
_NOT_ENFORCED = ("--exit-zero", "--select", "install")
_OPTIONS = ("ignore", "extend_ignore", "max_line_length")
_PER_FILE = re.compile(r"([^\s:,]+)\s*:\s*([A-Z][A-Z0-9]*(?:\s*,\s*[A-Z][A-Z0-9]*(?!\S*:))*)")
_PLUS = re.compile(r"--py3(\d*)-plus")


class LinterRules(NamedTuple):
    """The rules that a tool stands for: selectors, those to leave out, and other ruff options."""

    tool: str
    selected: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    oldest_minor: int | None = None


def linters_of(place: ToolTree) -> list[LinterRules]:
    """Return the rules of flake8 with its plugins, isort, pyupgrade and autoflake, where used."""
    hooks = _pre_commit_hooks(place)
    flake8 = _flake8_settings(place, hooks)
    found = [_flake8_rules(place, flake8)] if flake8 is not None else []
    if "isort" in hooks or _uses_isort(place):
        found.append(LinterRules("isort", ("I",)))
    if "pyupgrade" in hooks:
        minors = [int(minor or 0) for minor in _PLUS.findall(" ".join(hooks["pyupgrade"]))]
        found.append(LinterRules("pyupgrade", ("UP",), oldest_minor=max(minors, default=0)))
    if "autoflake" in hooks:
        variables = "--remove-unused-variables" in hooks["autoflake"]
        found.append(LinterRules("autoflake", ("F401", "F841") if variables else ("F401",)))
    return found


def _flake8_rules(place: ToolTree, settings: Mapping[str, str]) -> LinterRules:
    plugins = _plugins(place)
    available = [*_FLAKE8, *(_PLUGINS[name] for name in plugins)]
    selected = _codes(settings.get("select", "")) or available
    selected = [each for code in selected for each in _within(code, available)]
    selected += _codes(settings.get("extend_select", ""))
    ignored = _codes(settings.get("ignore", "")) + _codes(settings.get("extend_ignore", ""))
    if not any(code.startswith(_OPINIONATED) for code in selected):
        ignored.append(_OPINIONATED)
    width = settings.get("max_line_length", "").strip()
    limit = int(width) if width.isdecimal() else _LEAST_WIDTH
    options = ["--config", f"lint.pycodestyle.max-line-length={limit}"]
    if "flake8-docstrings" in plugins:
        convention = settings.get("docstring_convention", "pep257").strip()
        if convention in ("google", "numpy", "pep257"):
            options += ["--config", f'lint.pydocstyle.convention="{convention}"']
    for pattern, codes in _PER_FILE.findall(settings.get("per_file_ignores", "")):
        options += _ignored_in(pattern, _codes(codes))
    names = " with ".join(filter(None, ("flake8", " and ".join(plugins))))
    return LinterRules(names, tuple(dict.fromkeys(selected)), tuple(ignored), tuple(options))


def _ignored_in(pattern: str, codes: list[str]) -> list[str]:
    known = [code for code in codes if is_selector(code)]
    if not known or "," in pattern:
        return []
    pattern = pattern if "/" in pattern or "*" in pattern else f"**/{pattern}"
    return [word for code in known for word in ("--per-file-ignores", f"{pattern}:{code}")]


def _within(code: str, available: list[str]) -> list[str]:
    """Return what a selector of flake8 selects from the codes that are available."""
    narrow = [code] if any(code.startswith(each) for each in available) else []
    return narrow or [each for each in available if each.startswith(code)]


def _plugins(place: ToolTree) -> list[str]:
    paths = [*_DEPENDENCIES]
    for pattern in _REQUIREMENTS:
        paths += place.files.glob(pattern, look=place.left)
    named = {name for path in paths for name in _PLUGIN.findall(place.text_or_empty(path))}
    return sorted(named & _PLUGINS.keys())


def _flake8_settings(place: ToolTree, hooks: Mapping[str, list[str]]) -> Mapping[str, str] | None:
    """Return the settings of flake8, with underscores in their names, or None if it is not used."""
    settings: dict[str, str] | None = None
    for found in _flake8_sections(place):
        settings = {key.replace("-", "_"): _joined(value) for key, value in found.items()}
        break
    commands = [*_commands(place), *([shlex.join(hooks["flake8"])] if "flake8" in hooks else [])]
    for command in commands:
        settings = settings or {}
        for name in _OPTIONS:
            flag = re.search(rf"--{name.replace('_', '-')}[= ]([\w,]+)", command)
            if flag:
                settings[name] = ",".join(filter(None, (settings.get(name), flag[1])))
    return settings


def _flake8_sections(place: ToolTree) -> Iterator[Mapping[str, Any]]:
    for name in ("setup.cfg", "tox.ini", ".flake8"):
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(place.text_or_empty(name))
        except ConfigParserError:
            continue
        if parser.has_section("flake8"):
            yield dict(parser["flake8"])
    tool = _pyproject_tools(place)
    if isinstance(tool.get("flake8"), dict):
        yield tool["flake8"]


def _commands(place: ToolTree) -> Iterator[str]:
    """Yield the options of the commands that run flake8 and fail if it finds something."""
    for pattern in _COMMANDS:
        for path in place.files.glob(pattern, look=place.left):
            for words in _COMMAND.findall(place.text_or_empty(path)):
                if not any(word in words for word in _NOT_ENFORCED):
                    yield words


def _uses_isort(place: ToolTree) -> bool:
    if "isort" in _pyproject_tools(place) or place.files.exists(".isort.cfg"):
        return True
    sections = re.compile(r"^\[(?:tool:)?isort\]", re.MULTILINE)
    return any(sections.search(place.text_or_empty(name)) for name in ("setup.cfg", "tox.ini"))


def _pre_commit_hooks(place: ToolTree) -> dict[str, list[str]]:
    """Return the arguments of each hook that pre-commit runs, by the hook's name."""
    try:
        document = yaml.load(place.text_or_empty(_HOOKS), _LOADER)  # noqa: S506 (a safe one)
    except yaml.YAMLError:
        return {}
    found: dict[str, list[str]] = {}
    for repository in _dicts(document.get("repos") if isinstance(document, dict) else None):
        for hook in _dicts(repository.get("hooks")):
            words = hook.get("args")
            found[str(hook.get("id"))] = [*map(str, words)] if isinstance(words, list) else []
    return found


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _pyproject_tools(place: ToolTree) -> dict[str, Any]:
    try:
        tool = tomllib.loads(place.text_or_empty("pyproject.toml")).get("tool")
    except (tomllib.TOMLDecodeError, RecursionError):  # ruff reports the error
        return {}
    return tool if isinstance(tool, dict) else {}


def _joined(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        return "\n".join(f"{key}:{_joined(each)}" for key, each in value.items())
    return str(value)


def _codes(text: str) -> list[str]:
    lines = (line.partition("#")[0] for line in text.splitlines())
    return [code for line in lines for code in re.split(r"[\s,]+", line) if code]
