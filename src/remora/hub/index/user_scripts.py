"""User scripts. Each `.remora/hub/NAME.pym` computes `extra.NAME` from a node's facts."""

import hashlib
import os
import re
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from remora.code.file_facts import FileFacts, NodeFacts
from remora.errors import HostError, ScriptError
from remora.workspaces.rooted_files import RootedFiles

if TYPE_CHECKING:
    from remora.pym import Limits, Script

FOLDER = ".remora/hub"
MAX_SCRIPTS = 10
VALUE_BYTES = 4096
"""Maximum bytes of one value, as JSON."""
_SOURCE_BYTES = 64 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_KEPT = 2000
_MAX_EXHAUSTED = 3
_PATIENCE_S = 1.0
_PATIENCE_PER_RUN_S = 0.008


class UserScripts:
    """The project's user scripts.

    If a script fails, only its own value is affected. Scripts have no host functions. A script that
    is slow or exceeds its limits is disabled until it changes.
    """

    def __init__(self, root: Path) -> None:
        self._files = RootedFiles(root)
        self._folder = root / FOLDER
        self._stamps: tuple[tuple[object, ...], ...] = ()
        self._scripts: list[_UserScript] = []
        self._state = ""

    def state(self) -> str:
        """Return a hash of the names and contents of all scripts.

        When it changes, stored values are outdated.
        """
        if (stamps := self._stamped()) != self._stamps:
            read = [(str(name), self._read(str(name))) for name, *_ in stamps]
            self._scripts = [_UserScript(Path(name).stem, source) for name, source in read]
            listing = repr([(own.name, own.sha256) for own in self._scripts])
            self._state = hashlib.sha256(listing.encode()).hexdigest() if self._scripts else ""
            self._stamps = stamps
        return self._state

    def extras(self, facts: FileFacts) -> dict[str, dict[str, Any]]:
        """Return the script values, keyed by node key and then by script name.

        A value is at most 4 KB of JSON, or `{"error": MESSAGE}`.
        """
        return (
            {node.key: self._values_of(node, facts) for node in facts.nodes}
            if self._scripts
            else {}
        )

    def _values_of(self, node: NodeFacts, facts: FileFacts) -> dict[str, Any]:
        node_facts: dict[str, Any] = msgspec.to_builtins(node)
        del node_facts["line_start"]  # an edit above the node does not change its facts
        node_facts |= {"file_path": facts.path, "partial": facts.partial}
        digest = hashlib.sha256(msgspec.json.encode(node_facts)).digest()
        return {own.name: own.value(node_facts, digest) for own in self._scripts}

    def _stamped(self) -> tuple[tuple[object, ...], ...]:
        try:
            with os.scandir(self._folder) as entries:
                found = [entry for entry in entries if entry.name.endswith(".pym")]
                stats = [(entry.name, entry.stat(follow_symlinks=False)) for entry in found]
        except OSError:
            return ()
        named = sorted(pair for pair in stats if _NAME.fullmatch(pair[0].removesuffix(".pym")))
        return tuple(
            (name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
            for name, stat in named[:MAX_SCRIPTS]
        )

    def _read(self, name: str) -> bytes | HostError:
        try:
            return self._files.read_bytes(f"{FOLDER}/{name}", limit=_SOURCE_BYTES)
        except HostError as refused:
            return refused


class _UserScript:
    """A script with its cached values and its resource usage."""

    def __init__(self, name: str, source: bytes | HostError) -> None:
        self.name = name
        self.sha256 = hashlib.sha256(source if isinstance(source, bytes) else b"").hexdigest()
        self._script = _load_script(name, source)
        self._runs = self._exhausted = 0
        self._seconds = 0.0
        self._values: dict[bytes, Any] = {}

    def value(self, facts: dict[str, Any], digest: bytes) -> Any:
        """Return the script's value for a node. `digest` is a hash of all inputs."""
        if digest not in self._values:
            if len(self._values) >= _MAX_KEPT:
                self._values.clear()
            self._values[digest] = self._compute_value(facts)
        return self._values[digest]

    def _compute_value(self, facts: dict[str, Any]) -> Any:
        if isinstance(self._script, str):
            return _error_value(self._script)
        began = time.monotonic()
        takes = [spec.name for spec in self._script.inputs]
        inputs = {"node": facts} if "node" in takes else {}
        run = self._script.run(inputs, {}, limits=_limits(), clock=_EPOCH, seed=0)
        self._runs += 1
        self._seconds += time.monotonic() - began
        self._exhausted += run.error is not None and run.error.kind in ("limit", "crashed")
        self._script = self._why_disabled() or self._script
        if run.error is not None:
            return _error_value(run.error.message)
        if len(msgspec.json.encode(run.value)) > VALUE_BYTES:
            return _error_value(f"the result is larger than {VALUE_BYTES} bytes")
        return run.value

    def _why_disabled(self) -> str | None:
        """Return the reason to disable the script, or None."""
        if self._exhausted >= _MAX_EXHAUSTED:
            times = f"{self._exhausted} of {self._runs} times"
            return f"not run any more: it ran into its limits, {times}"
        if self._seconds > _PATIENCE_S + _PATIENCE_PER_RUN_S * self._runs:
            return f"not run any more: {self._runs} runs took {self._seconds:.1f} s"
        return None


@cache
def _limits() -> "Limits":
    from remora.pym import Limits

    return Limits(
        duration_s=0.1,
        wall_s=0.5,
        memory_mb=32,
        recursion=200,
        host_calls=1,  # allows one call, so that it is reported as denied, not as over the limit
        print_bytes=1024,
        result_bytes=VALUE_BYTES,
    )


def _load_script(name: str, source: bytes | HostError) -> "Script | str":
    if isinstance(source, HostError):
        return source.message
    from remora.pym import load_source  # imports the interpreter, which takes 11 MB

    try:
        return load_source(source.decode(), name=name)
    except UnicodeDecodeError:
        return f"{name}.pym: not UTF-8"
    except ScriptError as wrong:
        return wrong.message


def _error_value(message: str) -> dict[str, str]:
    from remora.pym import one_line

    return {"error": one_line(message)}
