"""The nodes that `remora watch` has analyzed, so that no text is analyzed twice."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from remora.code.syntax.nodes import Module
from remora.ids import file_of_key
from remora.regular_file import replace_file
from remora.runs.planning.changed_nodes import own_texts

_FORMAT = 1


class _Stored(msgspec.Struct, frozen=True):
    """The content of the file. `settings` is a hash of what an analysis depends on."""

    format: int
    settings: str
    nodes: dict[str, str]


class AnalyzedNodes:
    """The hashes of the texts that were analyzed, by node key.

    They are stored in a file, which may be deleted, for the next watch with the same settings.
    """

    def __init__(self, file: Path, settings: str) -> None:
        self._file = file
        self._settings = settings
        self._nodes: dict[str, str] = {}
        with suppress(OSError, ValueError, RecursionError):
            stored = msgspec.json.decode(file.read_bytes(), type=_Stored)
            if (stored.format, stored.settings) == (_FORMAT, settings):
                self._nodes = dict(stored.nodes)

    def files(self) -> set[str]:
        """Return the files of all nodes."""
        return {file_of_key(key) for key in self._nodes}

    def is_known(self, key: str, text: str) -> bool:
        return self._nodes.get(key) == text

    def changed(self, files: Collection[str], texts: Mapping[str, str]) -> set[str]:
        """Return the keys of the nodes of `files` that are gone or have another text."""
        return {
            key
            for key, text in self._nodes.items()
            if texts.get(key) != text and file_of_key(key) in files
        }

    def update(
        self, texts: Mapping[str, str], added: Iterable[str], removed: Iterable[str]
    ) -> None:
        """Remove nodes, add nodes with their current texts, and write the file.

        If the disk refuses it, only later watches analyze these nodes again.
        """
        for key in removed:
            self._nodes.pop(key, None)
        self._nodes |= {key: texts[key] for key in added}
        stored = msgspec.json.encode(_Stored(_FORMAT, self._settings, self._nodes))
        with suppress(OSError):
            replace_file(self._file, stored)


def node_texts(tree: Path, modules: Iterable[Module]) -> dict[str, str]:
    """Return a hash of the text of each node in the modules, without its nested nodes.

    The files in `tree` must be those that were parsed.
    """
    return {
        key: sha256(b"\n".join(lines)).hexdigest()
        for module in modules
        for key, lines in own_texts(module, (tree / module.path).read_bytes()).items()
    }
