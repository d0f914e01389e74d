"""Scripts of the project that determine whether a node needs work."""

from functools import cached_property
from pathlib import Path

from remora.agents.definition.agent import Agent
from remora.agents.definition.scripts import needs_input
from remora.agents.named_summarizers import EPOCH
from remora.code.syntax.nodes import Module, Node, own_lines
from remora.errors import HostError
from remora.pym import Limits


class NeedScripts:
    """Runs the scripts that determine whether the nodes of a file need work.

    The file is read on first use.
    """

    def __init__(self, tree: Path, module: Module) -> None:
        self._path = tree / module.path
        self._module = module

    def needs_work(self, agent: Agent, node: Node, findings: int) -> bool:
        """Return True if the script reports that a node needs work.

        Raises HostError if the script fails.
        """
        if agent.needs is None:
            return False
        given = {}
        if any(spec.name == "node" for spec in agent.needs.inputs):
            given["node"] = needs_input(node, findings, self._text(node))
        run = agent.needs.run(given, {}, limits=Limits(), clock=EPOCH, seed=0)
        if run.error is not None:
            raise HostError(f"{agent.folder.name}: {run.error.message}")
        return bool(run.value)

    def _text(self, node: Node) -> str:
        """Return the source of a node without the lines of nested nodes."""
        return "".join(
            self._lines[number - 1] for number in sorted(own_lines(self._module, node.key))
        )

    @cached_property
    def _lines(self) -> list[str]:
        source = self._path.read_bytes()
        return [line.decode("utf-8-sig") for line in source.splitlines(keepends=True)]
