"""The last rung: the asked nodes' own files read and analysed, without any other file."""

from pathlib import Path

from remora.code.analysis import read_facts
from remora.code.facts import FileFacts
from remora.errors import HostError
from remora.hub.answers import Answers
from remora.hub.members import Members
from remora.hub.protocol import Request
from remora.hub.rungs.told import Budget, Told, answered, nodes_of
from remora.hub.view import MemoryView
from remora.ids import split_node_key, unspell_path
from remora.workspaces import Beneath

SECONDS_PER_BYTE = 1e-6
"""What analysis takes at most on a slow machine: about 0.6e-6 on the one this was measured on."""
READ_LIMIT = 64 * 1024 * 1024
"""Bytes of a file that is looked at; a larger one is no source."""


class FileRung:
    """Knows of a node what its file says; links, tests and identity are null."""

    def __init__(self, root: Path, members: Members) -> None:
        self._files = Beneath(root)
        self._members = members

    def ask(self, request: Request, budget: Budget) -> Told | None:
        """None for what one file cannot tell, or where reading it would take too long.

        Raises NotFound for a node that its file does not have.
        """
        keys = nodes_of(request)
        if not keys:
            return None
        spelled = dict.fromkeys(split_node_key(key)[0] for key in keys)
        found: dict[str, FileFacts] = {}
        for path in self._members.belonging(map(unspell_path, spelled)):
            facts = self._analysed(path, budget)
            if facts is None:
                return None
            found[facts.path] = facts
        answers = Answers(MemoryView(found), partial_links=True)
        return Told(answered(answers, request), None, "file")

    def _analysed(self, path: str, budget: Budget) -> FileFacts | None:
        try:
            if not budget.affords(self._files.stat(path).st_size * SECONDS_PER_BYTE):
                return None
            return read_facts(path, self._files.read_bytes(path, limit=READ_LIMIT))
        except HostError:
            return None
