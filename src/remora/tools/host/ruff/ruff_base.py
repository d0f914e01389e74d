"""Runs of ruff for all copies of a base, and the results of earlier runs."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remora.sandbox.process import ProcessResult
from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.options import RuffOptions
from remora.tools.host.ruff.processes import RuffProcesses

_MOST_RESULTS = 256
_LARGEST_RESULT = 256 * 1024
_MOST_FINDINGS = 50_000
_Version = tuple[str, bytes]
"""Path and SHA-256 of a version of a file."""


class RuffBase:
    """Runs ruff on texts as if they were files of a base.

    Ruff reads only the base's configuration and the names and modes of its files, so a run is valid
    for every copy that has the same of them. `select` contains the rules that the user selects.
    """

    def __init__(self, folder: Path, select: Sequence[str] = ()) -> None:
        self.options = RuffOptions(FileTree(folder), select, is_frozen=True)
        self._processes = RuffProcesses(folder)
        self._lock = threading.Lock()
        self._results: OrderedDict[tuple[tuple[str, ...], bytes], ProcessResult] = OrderedDict()
        self._findings: dict[_Version, list[dict[str, Any]]] = {}
        self._kept = 0
        self._formats: dict[_Version, bool] = {}

    def run(self, words: Sequence[str], stdin: bytes, seconds: float) -> ProcessResult:
        """Run a command in the base's folder, or return its earlier result. Raises HostError."""
        key = (tuple(words), hashlib.sha256(stdin).digest())
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        with self._processes.session(seconds) as session:
            result = session.run(words, stdin, seconds)
        if result.returncode == 0 and len(result.stdout) + len(result.stderr) <= _LARGEST_RESULT:
            with self._lock:
                self._results[key] = result
                while len(self._results) > _MOST_RESULTS:
                    self._results.popitem(last=False)
        return result

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
        self._processes.close()


def _version(path: str, content: bytes) -> _Version:
    return path, hashlib.sha256(content).digest()
