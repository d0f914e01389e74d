"""Options of ruff for the files of a tree."""

import json
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar, cast

from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.config_files import (
    DEFAULT_MINOR,
    declared_minor,
    has_target,
    is_configured,
    nearest_config_folder,
    oldest_minor,
    settings_for,
    target_version,
)
from remora.tools.host.ruff.import_style import imports_one_per_line
from remora.tools.host.ruff.ruff_versions import ruff_use
from remora.tools.host.ruff.rule_choice import RuleChoice, rule_choice, setting_values
from remora.tools.host.ruff.rules import expand
from remora.tools.host.style_config import configured_width

T = TypeVar("T")
OptionsOf = Callable[[str], list[str]]
"""A method that returns the options for a file or folder."""
_Method = Callable[["RuffOptions", str], list[str]]
_UNSAFE = (
    "PTH1", "PTH202", "PTH203", "PTH204", "PTH205", "PTH207", "PTH208", "PTH21", "RUF019", "TRY400",
)  # fmt: skip
"""Rules whose fixes change what code does for ordinary values, although ruff calls some safe.

`Path("").is_dir()` is true, unlike `os.path.isdir("")`. Not all containers have `get` (RUF019: 39
safe fixes in 200 packages). An exception is logged with its traceback (TRY400: 42).
"""
_ONE_PER_LINE = "lint.isort.force-single-line=true"


def _once_for_folder(compute: _Method) -> _Method:
    """Compute options only once for each folder with a configuration file, if the tree is frozen."""

    @wraps(compute)
    def options(self: "RuffOptions", path: str) -> list[str]:
        if not self.is_frozen:
            return compute(self, path)
        folder = self.config_folder(path)
        key = (compute.__name__, folder)
        if key not in self.known:
            self.known[key] = compute(self, f"{folder}/." if folder else ".")
        return cast("list[str]", self.known[key])

    return options


class RuffOptions:
    """Options of ruff for the files of a tree.

    `selected` contains the rules that the user selects. The configuration of a frozen tree never
    changes, so its options are computed once. They are kept in `known`.
    """

    def __init__(
        self, files: FileTree, selected: Sequence[str], *, is_frozen: bool = False
    ) -> None:
        self.files = files
        self.selected = tuple(selected)
        self.is_frozen = is_frozen
        self.known: dict[object, object] = {}
        self._config_folders: dict[str, str] = {}

    def once(self, compute: Callable[..., T], *about: object) -> T:
        """Return what a function computes from the tree, only once if the tree is frozen."""
        if not self.is_frozen:
            return compute(self.files, *about)
        if (compute, *about) not in self.known:
            self.known[compute, *about] = compute(self.files, *about)
        return cast("T", self.known[compute, *about])

    def config_folder(self, path: str) -> str:
        """Return the nearest folder above a file that may configure ruff, or an empty string."""
        folder = path.rpartition("/")[0]
        if folder not in self._config_folders:
            self._config_folders[folder] = nearest_config_folder(self.files, folder)
        return self._config_folders[folder]

    def rules(self, path: str) -> RuleChoice:
        """Return the rules to check in a file or folder."""
        return rule_choice(self.files, path, self.selected)

    def described_rules(self) -> str:
        """Return a text about the rules, and about a target Python that is not ruff's default.

        It is empty if the project decides both in its configuration of ruff.
        """
        text, declared = self.rules("").text, self.once(declared_minor)
        is_known = is_configured(self.files, "") and has_target(self.files, "")
        if is_known or declared is None or declared[0] == DEFAULT_MINOR:
            return text
        target = f"target: 3.{declared[0]} from {declared[1]}"
        return f"{text}; {target}" if text else f"the project's own; {target}"

    @_once_for_folder
    def config(self, path: str) -> list[str]:
        """Return the options with which ruff uses only the configuration in the tree.

        If the project has no configuration, ruff would use one above the root. If the configuration
        does not tell ruff the Python version, it is the one that the project declares otherwise.
        """
        if not is_configured(self.files, path):
            return self.isolated()
        minor = None if has_target(self.files, path) else self.once(oldest_minor)
        return [] if minor is None else target_version(minor)

    @_once_for_folder
    def check(self, path: str) -> list[str]:
        """Return the options to check a file or folder: its configuration, rules and line length."""
        settings = settings_for(self.files, path)
        safe = setting_values(settings, "extend-safe-fixes")
        unsafe = [code for code in _UNSAFE if not expand(safe, (), [code])]
        unsafe += setting_values(settings, "extend-unsafe-fixes")
        marked = ["--config", f"lint.extend-unsafe-fixes={json.dumps(unsafe)}"]
        return [*self.sorting(path), *self.rules(path).options, *marked]

    @_once_for_folder
    def sorting(self, path: str) -> list[str]:
        """Return the options to sort the imports of a file.

        Without a configuration, lines may be as long as the project's, and if the project imports
        one name per line, it stays so.
        """
        own = self.config(path)
        if is_configured(self.files, path):
            return own
        width = configured_width(self.files, path)
        more = ["--line-length", str(width)] if width else []
        more += ["--config", _ONE_PER_LINE] if imports_one_per_line(self.files) else []
        return [*own, *more]

    @_once_for_folder
    def names(self, path: str) -> list[str]:
        """Return the options to check names: only the Python version and builtins count."""
        builtins = json.dumps(setting_values(settings_for(self.files, path), "builtins"))
        return [*self.isolated(), "--config", f"builtins={builtins}"]

    def isolated(self) -> list[str]:
        """Return the options with which ruff uses no configuration but the Python version.

        A project that does not declare a version gets no code that needs a newer Python than
        DEFAULT_MINOR, unless it uses ruff, which decides then.
        """
        minor = self.once(oldest_minor)
        if minor is None:
            use = self.once(ruff_use)
            if use.is_named or use.version is not None:
                return ["--isolated"]
        return ["--isolated", *target_version(minor or DEFAULT_MINOR)]
