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
_MOST_KNOWN = 100_000  # facts about versions of files, in 25 MB (decision); the oldest go first


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
        self._known: dict[tuple[str, str, bytes], Any] = {}
        self._kept = 0

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
                self.keep("findings", path, contents[path], findings)

    def keep(self, what: str, path: str, content: bytes, known: object) -> None:
        """Keep what is known about a version of a file, such as its `findings`."""
        with self._lock:
            self._known[what, path, hashlib.sha256(content).digest()] = known
            if len(self._known) > _MOST_KNOWN:
                del self._known[next(iter(self._known))]

    def known(self, what: str, path: str, content: bytes) -> Any:
        """Return what is known about a version of a file, or None."""
        return self._known.get((what, path, hashlib.sha256(content).digest()))

    def close(self) -> None:
        """End all processes."""
        self._processes.close()
