"""Compares a node's versions: at the agent's start, in the workspace, and in the user's files."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from remora.agents.job import Job
from remora.code.extract import parse_module
from remora.code.file_analysis import read_facts
from remora.code.pytest_model.pytest_file import is_test_file
from remora.code.syntax.nodes import Module, find_node, node_at_line, own_lines
from remora.ids import file_of_key, split_node_key
from remora.memory.packet import Candidate
from remora.workspaces.copy.workspace import Workspace

UserFile = Callable[[str], bytes | None]
"""Returns the current content of the user's file at a raw path, or None if there is no file."""
_MOST_CALLS = 20
"""Calls that are looked at to show one, so that a turn does not wait."""


class NodeVersions:
    """Compares a job's node in the base, the workspace and the user's current files.

    Without `user_file`, the user's files are assumed to be unchanged.
    """

    def __init__(self, job: Job, workspace: Workspace, user_file: UserFile | None) -> None:
        self._job = job
        self.are_of_nodes = job.nodes is not None
        """True if the job works on several nodes."""
        self._workspace = workspace
        self._user_file = user_file
        self._looked: tuple[bytes | None, bool] | None = None

    def workspace_facts(self, key: str) -> dict[str, Any] | None:
        """Return facts about a node, read from its file in the workspace.

        Returns None if the agent has not changed the file, and `{}` if the node no longer exists.
        Raises HostError if the file cannot be read.
        """
        path = file_of_key(key)
        now = self._workspace.read(path)
        if now == self._workspace.base_bytes(path):
            return None
        file = read_facts(path, now) if now is not None else None
        node = next((node for node in file.nodes if node.key == key), None) if file else None
        if file is None or node is None:
            return {}
        facts: dict[str, Any] = msgspec.to_builtins(node)
        del facts["qualname"]
        return facts | {"file_hash": file.file_hash, "partial": file.partial}

    def suggested(self, candidates: Iterable[Candidate]) -> list[str]:
        """Return the functions and classes that suggestions name, or that have their `first` line.

        Raises HostError if the file cannot be read.
        """
        path = self._job.path
        module = parse_module(path, self._workspace.read(path) or b"")
        if not isinstance(module, Module):
            return []
        keys: dict[Any, str] = {node.qualname: node.key for node in module.nodes}
        found: list[str] = []
        for args in (candidate.args for candidate in candidates):
            found += [
                keys[name] for name in args.values() if isinstance(name, str) and name in keys
            ]
            found += [node_at_line(module, args["first"])] if "first" in args else []
        return [key for key in found if key != module.key]

    def call(self, key: str, callers: Iterable[Mapping[str, Any]]) -> str | None:
        """Return a call of a node as `path:line: code`, rather one outside of tests, or None.

        Lines that do not contain the node's name have changed since `callers` were found.
        """
        name = split_node_key(key)[1].rpartition(".")[2].partition("#")[0]
        links = [link for link in callers if "kind" not in link]  # which are calls
        calls = [(file_of_key(link["key"]), line) for link in links for line in link["lines"]]
        for path, line in sorted(calls, key=lambda call: is_test_file(call[0]))[:_MOST_CALLS]:
            text = (self._workspace.read(path) or b"").decode("utf-8", "replace")
            lines = [part.strip() for part in text.splitlines()[line - 1 : line + 2]]
            is_whole = not lines or lines[0].count("(") <= lines[0].count(")")
            if name in (code := " ".join(lines[:1] if is_whole else lines)):
                return f"{path}:{line}: {code}"
        return None

    def changed_by_user(self) -> bool:
        """Return True if the user has edited or removed the job's node since the job started.

        Edits in nested nodes are ignored, and so are files that do not parse.
        """
        if self._user_file is None:
            return False
        path = self._job.path
        begun, now = self._workspace.base_bytes(path), self._user_file(path)
        if self._looked is None or self._looked[0] != now:
            self._looked = now, begun != now and self._differs(begun, now)
        return self._looked[1]

    def _differs(self, begun: bytes | None, now: bytes | None) -> bool:
        if now is None:
            return True
        before, after = self._own(begun or b""), self._own(now)
        return before is not None and after is not None and before != after

    def _own(self, source: bytes) -> list[bytes] | None:
        """Return the node's lines without nested nodes, or None if the source does not parse.

        The list is empty if the node does not exist.
        """
        module = parse_module(self._job.path, source)
        if not isinstance(module, Module):
            return None
        node = find_node(module, self._job.node_id)
        if node is None:
            return []
        lines = source.splitlines()
        return [lines[number - 1] for number in sorted(own_lines(module, node.key))]
