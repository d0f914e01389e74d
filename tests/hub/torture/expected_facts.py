"""Expected facts of a project: from its text, and from a fresh analysis."""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts
from remora.files.project_files import project_files
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.snapshots import MemorySnapshot
from remora.ids import escape_path

OF_DATABASES = ("last_updated", "update_source")
LINKS = ("callers", "references", "callees", "related_tests", "incomplete")
_FUNCTION = re.compile(r"^def (\w+)\(x=\d+\):\n    return .*", re.MULTILINE)
_IMPORT = re.compile(r"from ([\w.]+) import t as u\n\n\ndef t\(x=\d+\):\n    return u\(x\)\n")


def files_of(root: Path) -> dict[str, str]:
    """Return the Python files of a project, without those in folders of other code."""
    found = {}
    for path in project_files(root).paths:
        above = [Path(path).parents[n] for n in range(len(Path(path).parents) - 1)]
        made = any(p.name == "node_modules" or (root / p / "pyvenv.cfg").exists() for p in above)
        if path.endswith(".py") and not made:
            found[path] = sha256((root / path).read_bytes()).hexdigest()
    return found


class Truth:
    """Looks again at each question; what the same bytes say is remembered."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._read: dict[tuple[str, str], FileFacts] = {}
        self.look()

    def look(self) -> None:
        """The project is now as it will be asked about."""
        hashes = files_of(self.root)
        self.paths = sorted(map(escape_path, hashes))
        facts: dict[str, FileFacts] = {}
        self.texts: dict[str, str] = {}
        for path, digest in hashes.items():
            source = (self.root / path).read_bytes()
            if (path, digest) not in self._read:
                self._read[path, digest] = read_facts(path, source)
            facts[escape_path(path)] = self._read[path, digest]
            self.texts[escape_path(path)] = source.decode(errors="replace")
        self.answers = NodeQueries(MemorySnapshot(facts))

    def context(self, keys: list[str]) -> dict[str, dict[str, Any]]:
        return plain(self.answers.context(keys))

    def hashes(self) -> dict[str, str]:
        """By key, the source hash of each function in files that are as the editor writes them."""
        return {
            f"node:{path}:{found[1]}": sha256(found[0].encode()).hexdigest()
            for path, text in self.texts.items()
            if text.startswith("from ") and text.count("def t(") == 1
            for found in _FUNCTION.finditer(text)
        }

    def callers(self, path: str) -> set[str]:
        """Keys that must be among the callers of a file's `t` if no other module can be meant."""
        module = path.removesuffix(".py").replace("/", ".")
        tail = module.rpartition(".")[2]
        alike = [other for other in self.paths if re.search(rf"\b{re.escape(tail)}\b", other)]
        if alike != [path] or "def t(" not in self.texts[path]:
            return set()
        return {
            f"node:{other}:t"
            for other, text in self.texts.items()
            if other != path and (found := _IMPORT.match(text)) and found[1] == module
        }


def plain(found: Mapping[str, Any], *, without: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """Nodes as they compare."""
    left_out = (*OF_DATABASES, "fresh", *without)
    return {
        key: {name: value for name, value in node.items() if name not in left_out}
        for key, node in msgspec.to_builtins(dict(found)).items()
    }


def differences(
    told: Mapping[str, dict[str, Any]], true: Mapping[str, dict[str, Any]]
) -> list[tuple[str, str, Any, Any]]:
    """By key and field, what was told and what is true."""
    found: list[tuple[str, str, Any, Any]] = []
    for key in sorted({*told, *true}):
        said, is_so = told.get(key, {}), true.get(key, {})
        found += [
            (key, name, said.get(name), is_so.get(name))
            for name in sorted({*said, *is_so})
            if said.get(name) != is_so.get(name)
        ]
    return found
