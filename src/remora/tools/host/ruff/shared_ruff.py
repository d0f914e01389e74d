"""Runs of ruff for all copies of a base, and the results of earlier runs."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar, cast

from remora.sandbox.process import ProcessResult
from remora.tools.host.ruff.config_files import (
    DEFAULT_MINOR,
    is_configured,
    nearest_config_folder,
    oldest_minor,
    settings_for,
    target_version,
)
from remora.tools.host.ruff.import_lines import imports_one_per_line
from remora.tools.host.ruff.ruff_pool import RuffPool
from remora.tools.host.ruff.ruff_versions import ruff_use
from remora.tools.host.ruff.rule_choice import rule_choice, selected_rules, setting_values
from remora.tools.host.style_config import configured_width
from remora.tools.tree import ToolTree

T = TypeVar("T")
_MOST_RESULTS = 256
_LARGEST_RESULT = 256 * 1024
_MOST_FINDINGS = 50_000
_ONE_PER_LINE = "lint.isort.force-single-line=true"
_Version = tuple[str, bytes]
"""Path and SHA-256 of a version of a file."""

OptionsOf = Callable[[ToolTree, str], list[str]]
"""A function that returns ruff's options for a file or folder."""


class SharedRuff:
    """Runs ruff on texts as if they were files of a base.

    Ruff reads only the base's configuration and the names and modes of its files, so a run is valid
    for every copy that has the same of them. `select` contains the rules that the user selects.
    """

    def __init__(self, folder: Path, select: Sequence[str] = ()) -> None:
        self.tree = ToolTree(folder)
        self._select = tuple(select)
        self._pool = RuffPool(folder)
        self._lock = threading.Lock()
        self._results: OrderedDict[tuple[tuple[str, ...], bytes], ProcessResult] = OrderedDict()
        self._findings: dict[_Version, list[dict[str, Any]]] = {}
        self._kept = 0
        self._computed: dict[object, object] = {}
        self._formats: dict[_Version, bool] = {}
        self._config_folders: dict[str, str] = {}
        self._options: dict[tuple[str, str], list[str]] = {}

    @contextmanager
    def used(
        self, copy: Path | None = None, is_like_base: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Use this object for the base, and for a copy of it, in the block.

        `is_like_base` returns True if the copy has the base's files and configuration.
        """
        token = _CURRENT.set((self, copy, is_like_base))
        try:
            with selected_rules(self._select):
                yield
        finally:
            _CURRENT.reset(token)

    def run(self, words: Sequence[str], stdin: bytes, seconds: float) -> ProcessResult:
        """Run a command in the base's folder, or return its earlier result. Raises HostError."""
        key = (tuple(words), hashlib.sha256(stdin).digest())
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        with self._pool.session(seconds) as session:
            result = session.run(words, stdin, seconds)
        if result.returncode == 0 and len(result.stdout) + len(result.stderr) <= _LARGEST_RESULT:
            with self._lock:
                self._results[key] = result
                while len(self._results) > _MOST_RESULTS:
                    self._results.popitem(last=False)
        return result

    def options(self, path: str, options_of: OptionsOf) -> list[str]:
        """Return the options for a file or folder.

        `options_of` is called once for each folder with a configuration file.
        """
        folder = path.rpartition("/")[0]
        if folder not in self._config_folders:
            self._config_folders[folder] = nearest_config_folder(self.tree, folder)
        key = (options_of.__name__, self._config_folders[folder])
        if key not in self._options:
            self._options[key] = options_of(self.tree, f"{key[1]}/." if key[1] else ".")
        return self._options[key]

    def once(self, compute: Callable[[ToolTree], T]) -> T:
        """Return what a function computes from the base. It is computed only once."""
        if compute not in self._computed:
            self._computed[compute] = compute(self.tree)
        return cast("T", self._computed[compute])

    def remember(self, contents: Mapping[str, bytes], found: Sequence[dict[str, Any]]) -> None:
        """Keep all findings of some files, whose contents are keyed by path."""
        by_path: dict[str, list[dict[str, Any]]] = {path: [] for path in contents}
        for finding in found:
            if finding["path"] in by_path:
                by_path[finding["path"]].append(finding)
        for path, findings in by_path.items():
            if self._kept + len(findings) <= _MOST_FINDINGS:
                self._kept += len(findings)
                self._findings[_version(path, contents[path])] = findings

    def known_findings(self, path: str, content: bytes) -> list[dict[str, Any]] | None:
        """Return the findings that were kept for a version of a file, or None."""
        found = self._findings.get(_version(path, content))
        return None if found is None else list(found)

    def remember_format(self, path: str, content: bytes, *, is_formatted: bool) -> None:
        self._formats[_version(path, content)] = is_formatted

    def known_format(self, path: str, content: bytes) -> bool | None:
        """Return True if a version of a file is formatted, or None if that is not known."""
        return self._formats.get(_version(path, content))

    def close(self) -> None:
        """End all processes."""
        self._pool.close()


def _version(path: str, content: bytes) -> _Version:
    return path, hashlib.sha256(content).digest()


_CURRENT: ContextVar[tuple[SharedRuff, Path | None, Callable[[], bool]] | None] = ContextVar(
    "shared_ruff", default=None
)


def shared_ruff_for(place: ToolTree) -> SharedRuff | None:
    """Return the object that runs ruff for a tree, or None if there is none."""
    current = _CURRENT.get()
    if current is None:
        return None
    shared, copy, is_like_base = current
    if place.tree == shared.tree.tree or (place.tree == copy and is_like_base()):
        return shared
    return None


def once_for_base(place: ToolTree, compute: Callable[[ToolTree], T]) -> T:
    """Return what a function computes from a tree, computed only once for all copies of a base."""
    shared = shared_ruff_for(place)
    return compute(place) if shared is None else shared.once(compute)


def config_options(place: ToolTree, path: str) -> list[str]:
    """Return the options with which ruff uses only the configuration in the tree.

    If the project has no configuration, ruff would use one above the root.
    """
    return [] if is_configured(place, path) else isolated_options(place)


def check_options(place: ToolTree, path: str) -> list[str]:
    """Return the options to check a file or folder: its configuration, rules and line length."""
    return [*sorting_options(place, path), *rule_choice(place, path).options]


def sorting_options(place: ToolTree, path: str) -> list[str]:
    """Return the options to sort the imports of a file.

    Without a configuration, lines may be as long as the project's, and if the project imports one
    name per line, it stays so.
    """
    own = config_options(place, path)
    if not own:
        return own
    width = configured_width(place, path)
    own += ["--line-length", str(width)] if width else []
    return [*own, "--config", _ONE_PER_LINE] if imports_one_per_line(place) else own


def name_options(place: ToolTree, path: str) -> list[str]:
    """Return the options to check names: only the project's Python version and its builtins count."""
    builtins = json.dumps(setting_values(settings_for(place, path) or [], "builtins"))
    return [*isolated_options(place), "--config", f"builtins={builtins}"]


def isolated_options(place: ToolTree) -> list[str]:
    """Return the options with which ruff uses no configuration but the project's Python version.

    A project that does not declare a version gets no code that needs a newer Python than
    DEFAULT_MINOR, unless it uses ruff, which decides then.
    """
    minor = oldest_minor(place)
    if minor is None:
        use = once_for_base(place, ruff_use)
        if use.is_named or use.version is not None:
            return ["--isolated"]
    return ["--isolated", *target_version(minor or DEFAULT_MINOR)]
