"""Run plans, which contain the operations that each node needs.

Planning is deterministic, except for a need that tries calls of the project's code.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from remora.agents.definition.agent import Agent
from remora.agents.job import Job
from remora.code.syntax.node_patterns import match_nodes
from remora.code.syntax.nodes import Module, Node, node_summary
from remora.errors import RemoraError, UsageError
from remora.forks import map_in_processes
from remora.ids import NodeKey, agent_id
from remora.operations.base import Amount, DescribedAmount, Need
from remora.runs.planning.need_scripts import NeedScripts
from remora.runs.planning.source_files import Source
from remora.text import REPORT, bug_report_line
from remora.tools.tree import ToolTree

MAX_JOBS = 200
"""More jobs than this need confirmation."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes selected for a run."""

    node: str | None
    """A glob."""
    changed: frozenset[str] | None = None
    """The keys of nodes that differ from a revision."""
    keys: frozenset[str] | None
    """The keys of all nodes that may be selected."""
    max_nodes: int | None
    """The most nodes with jobs."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Planned jobs, ordered by file and line. A job on several nodes of a file comes first."""

    jobs: tuple[Job, ...] = ()
    operations: tuple[str, ...] = ()
    nodes: int = 0
    """The number of all nodes."""
    files: int = 0
    """The number of all files."""
    skipped_nodes: int = 0
    """The number of selected nodes without any job."""
    worked_on: Mapping[str, frozenset[NodeKey]] = {}
    """The nodes that jobs work on, by operation."""
    skipped: int = 0
    """The number of pairs of a node and an operation without a job."""
    left_nodes: Mapping[str, Mapping[str, tuple[NodeKey, ...]]] = {}
    """Nodes that need work for which no proposal can be made, by operation and reason."""
    findings: int = 0
    """The number of lint findings on the nodes of lint jobs."""
    left_findings: Mapping[str, tuple[str, ...]] = {}
    """Lint findings that no job would fix, by reason."""
    rules: str = ""
    """The rules, if the project does not select any."""
    judges: Mapping[str, str] = {}
    """The programs that must accept the proposals, by operation."""
    amounts: Mapping[str, int] = {}
    """The work of each job in the unit of its need, by agent ID."""
    seconds: float | None = 0.0
    """The expected duration, or None if it depends on a model server."""
    unreadable: tuple[dict[str, Any], ...] = ()
    """The files that no job can work on, with the reasons."""

    @property
    def left(self) -> dict[str, dict[str, int]]:
        """The numbers of nodes in `left_nodes`."""
        return {
            operation: {reason: len(nodes) for reason, nodes in reasons.items()}
            for operation, reasons in self.left_nodes.items()
        }

    @property
    def findings_left(self) -> dict[str, int]:
        """The numbers of findings in `left_findings`."""
        return {reason: len(findings) for reason, findings in self.left_findings.items()}


class AgentWithOptions(NamedTuple):
    """An agent and the options that its scripts receive."""

    agent: Agent
    options: Mapping[str, Any]


def make_plan(
    run_id: str,
    place: ToolTree,
    source: Source,
    agents: Sequence[AgentWithOptions],
    needs: Mapping[str, Need],
    selection: Selection,
) -> Plan:
    """Return the plan of a run. Raises UsageError if the node glob matches no node."""
    nodes = [node for module in source.modules for node in module.nodes]
    wanted = selected_keys(nodes, selection)
    amounts: dict[str, Amount] = {}
    counting: set[str] = set()
    with_wanted = [
        module for module in source.modules if any(node.key in wanted for node in module.nodes)
    ]
    for agent, options in agents:
        need = needs.get(agent.definition.needs)
        if need is not None:
            amounts[agent.definition.operation] = need.prepare(place, with_wanted, options)
            counting |= {agent.definition.operation} if need.counts_findings else set()
    planned = [agent for agent, _ in agents]
    planner = _FilePlanner(run_id, place.tree, planned, wanted, amounts, frozenset(counting))
    unreadable = [*source.unreadable, *_unchecked(amounts.values())]
    parts = _plan_files(planner, with_wanted, selection.max_nodes, unreadable)
    worked_on = _worked_on(parts)
    return Plan(
        jobs=tuple(job for part in parts for job in part.jobs),
        operations=tuple(agent.definition.operation for agent in planned),
        nodes=len(nodes),
        files=len(source.modules),
        skipped_nodes=sum(part.selected for part in parts) - _number_of_nodes(worked_on),
        worked_on=worked_on,
        skipped=sum(part.skipped for part in parts),
        left_nodes=_left_nodes(parts),
        left_findings=_left_findings(amounts.values(), with_wanted, wanted),
        rules=next(filter(None, (amount.rules for amount in _described(amounts.values()))), ""),
        judges={
            operation: amount.judges
            for operation, amount in amounts.items()
            if isinstance(amount, DescribedAmount) and amount.judges
        },
        findings=sum(
            work.amount for part in parts for work in part.work if work.operation in counting
        ),
        amounts={name: amount for part in parts for name, amount in part.amounts.items()},
        unreadable=tuple(unreadable),
    )


def _plan_files(
    planner: "_FilePlanner",
    modules: Sequence[Module],
    room: int | None,
    unreadable: list[dict[str, Any]],
) -> list["_Part"]:
    """Plan jobs for at most `room` nodes, and add the files that cannot be planned to `unreadable`."""

    def plan(part: Sequence[Module]) -> list[_Part | dict[str, Any]]:
        left, parts = room, list[_Part | dict[str, Any]]()
        for module in part:
            try:
                parts.append(made := planner.plan_file(module, left))
                left = None if left is None else left - made.nodes
            except (RemoraError, OSError):
                raise
            except Exception as error:  # noqa: BLE001 - one bad file must not stop the whole plan
                detail = f"{bug_report_line(error)}; {REPORT}"
                parts.append({"path": module.path, "detail": detail})
        return parts

    planned = map_in_processes(plan, modules) if room is None else plan(modules)
    unreadable += [made for made in planned if isinstance(made, dict)]
    return [made for made in planned if isinstance(made, _Part)]


def without_operations(plan: Plan, names: Collection[str], reason: str) -> Plan:
    """Return the plan without the jobs of some operations, whose nodes are left for a reason."""
    left = {operation: dict(reasons) for operation, reasons in plan.left_nodes.items()}
    for job in plan.jobs:
        if job.operation in names:
            reasons = left.setdefault(job.operation, {})
            keys = map(NodeKey, job.nodes or (job.node_id,))
            reasons[reason] = (*reasons.get(reason, ()), *keys)
    jobs = tuple(job for job in plan.jobs if job.operation not in names)
    worked_on = {name: keys for name, keys in plan.worked_on.items() if name not in names}
    skipped_nodes = (
        plan.skipped_nodes + _number_of_nodes(plan.worked_on) - _number_of_nodes(worked_on)
    )
    return replace(
        plan, jobs=jobs, worked_on=worked_on, skipped_nodes=skipped_nodes, left_nodes=left
    )


def _number_of_nodes(worked_on: Mapping[str, frozenset[NodeKey]]) -> int:
    """Return the number of nodes with a job."""
    return len(frozenset().union(*worked_on.values()))


class _Work(NamedTuple):
    """The work of one agent on one node."""

    agent: Agent
    node: Node
    amount: int


class _Planned(NamedTuple):
    """The work of an operation on a node."""

    operation: str
    node: NodeKey
    amount: int


class _Left(NamedTuple):
    """A node that needs work, and the reason why it has no job."""

    operation: str
    reason: str
    node: NodeKey


class _Part(NamedTuple):
    """The part of a plan for one file."""

    jobs: list[Job]
    work: list[_Planned]
    """The work on each node that a job works on."""
    amounts: Mapping[str, int]
    """The amounts of work, by agent ID."""
    selected: int
    """The number of selected nodes."""
    skipped: int
    """The number of pairs of a node and an agent without a job."""
    left: list[_Left]
    """The nodes that need work but have no job."""

    @property
    def nodes(self) -> int:
        """Number of nodes with jobs."""
        return len({work.node for work in self.work})


def _worked_on(parts: Iterable[_Part]) -> dict[str, frozenset[NodeKey]]:
    found: dict[str, set[NodeKey]] = {}
    for work in (work for part in parts for work in part.work):
        found.setdefault(work.operation, set()).add(work.node)
    return {operation: frozenset(keys) for operation, keys in found.items()}


def _left_nodes(parts: Iterable[_Part]) -> dict[str, dict[str, tuple[NodeKey, ...]]]:
    """Return the nodes without a job in all files, by operation and reason."""
    found: dict[str, dict[str, list[NodeKey]]] = {}
    for left in (left for part in parts for left in part.left):
        found.setdefault(left.operation, {}).setdefault(left.reason, []).append(left.node)
    return {
        operation: {reason: tuple(nodes) for reason, nodes in reasons.items()}
        for operation, reasons in found.items()
    }


def _left_findings(
    amounts: Iterable[Amount], modules: Sequence[Module], wanted: Collection[NodeKey]
) -> dict[str, tuple[str, ...]]:
    """Return the lint findings that no job would fix, by reason."""
    nodes = [(module, node) for module in modules for node in module.nodes if node.key in wanted]
    found: dict[str, list[str]] = {}
    for amount in _described(amounts):
        for module, node in nodes:
            for reason, findings in amount.left(module, node).items():
                found.setdefault(reason, []).extend(findings)
    return {reason: tuple(findings) for reason, findings in found.items()}


def _described(amounts: Iterable[Amount]) -> list[DescribedAmount]:
    return [amount for amount in amounts if isinstance(amount, DescribedAmount)]


def _unchecked(amounts: Iterable[Amount]) -> list[dict[str, Any]]:
    """Return the files whose findings are not known, in the form of unreadable files."""
    found: dict[str, str] = {}
    for amount in _described(amounts):
        found |= amount.unchecked
    return [{"path": path, "detail": why} for path, why in found.items()]


@dataclass(frozen=True)
class _FilePlanner:
    """Plans jobs one file at a time."""

    run_id: str
    tree: Path
    agents: Sequence[Agent]
    wanted: set[NodeKey]
    """The keys of the selected nodes."""
    amounts: Mapping[str, Amount]
    """Finds the amount of work on a node, by operation with a built-in need."""
    counting: frozenset[str]
    """The operations whose need counts findings."""

    def plan_file(self, module: Module, room: int | None) -> _Part:
        """Return the jobs for the nodes of a file.

        `room` is the maximum number of nodes with jobs, or None if there is no limit.
        """
        scripts = NeedScripts(self.tree, module)
        work: list[_Work] = []
        chosen: set[NodeKey] = set()
        full = False
        skipped = 0
        left: list[_Left] = []
        nodes = [node for node in module.nodes if node.key in self.wanted]
        for node in nodes:
            for agent in self.agents:
                left_out = room is not None and node.key not in chosen and len(chosen) >= room
                full = full or left_out
                amount = 0 if left_out else self._amount(agent, module, node, scripts)
                if isinstance(amount, str):
                    left.append(_Left(agent.definition.operation, amount, node.key))
                if not amount or isinstance(amount, str):
                    skipped += 1
                    continue
                chosen.add(node.key)
                work.append(_Work(agent, node, amount))
        jobs = self._jobs(module, work, full=full)
        amounts = {job.agent_id: amount for job, amount in jobs}
        done = [_Planned(agent.definition.operation, n.key, amount) for agent, n, amount in work]
        return _Part([job for job, _ in jobs], done, amounts, len(nodes), skipped, left)

    def _jobs(self, module: Module, work: list[_Work], *, full: bool) -> list[tuple[Job, int]]:
        """Return the jobs for a file's work with their amounts, jobs on several nodes first."""
        together: list[tuple[Job, int]] = []
        for agent in self.agents:
            if agent.definition.unit != "file":
                continue
            own = [part for part in work if part.agent is agent]
            if own:
                job = self._file_job(agent, module, [part.node for part in own], full=full)
                together.append((job, sum(part.amount for part in own)))
        alone = [
            (_job(self.run_id, agent, node), amount)
            for agent, node, amount in work
            if agent.definition.unit == "node"
        ]
        return [*together, *alone]

    def _file_job(self, agent: Agent, module: Module, nodes: list[Node], *, full: bool) -> Job:
        """Return one job for several nodes of a file.

        `full` is true if nodes were left out because of `max_nodes`.
        """
        whole = not full and all(
            node.key in self.wanted and self._is_allowed(agent, node) for node in module.nodes
        )
        first = nodes[0] if len(nodes) == 1 and not whole else module.nodes[0]
        keys = () if whole else tuple(node.key for node in nodes)
        return replace(_job(self.run_id, agent, first), nodes=keys)

    @staticmethod
    def _is_allowed(agent: Agent, node: Node) -> bool:
        return not node.skip and node.node_type in agent.definition.node_types

    def _amount(self, agent: Agent, module: Module, node: Node, scripts: NeedScripts) -> int | str:
        operation = agent.definition.operation
        if not self._is_allowed(agent, node):
            return 0
        if operation in self.amounts:
            return self.amounts[operation](module, node)
        counts = (self.amounts[name](module, node) for name in self.counting)
        findings = sum(number for number in counts if not isinstance(number, str))
        return int(scripts.needs_work(agent, node, findings))


def selected_keys(nodes: Sequence[Node], selection: Selection) -> set[NodeKey]:
    """Return the keys of the selected nodes. Raises UsageError if the glob matches no node."""
    keys = [node.key for node in nodes]
    if selection.node is not None:
        keys = list(match_nodes(keys, selection.node))
        if not keys:
            raise UsageError(
                f"no node matches {selection.node!r}",
                hint="use a glob over path:qualname or qualname, such as 'src/shop/*' or 'load_*'",
            )
    for among in (selection.changed, selection.keys):
        if among is not None:
            keys = [key for key in keys if key in among]
    return set(keys)


def _job(run_id: str, agent: Agent, node: Node) -> Job:
    operation = agent.definition.operation
    return Job(
        run_id=run_id,
        agent_id=agent_id(operation, run_id, node.key, 1),
        operation=operation,
        node_id=node.key,
        node_type=node.node_type,
        node_name=node.path if node.node_type == "module" else node.qualname,
        node_summary=node_summary(node),
        path=node.path,
        qualname=node.qualname,
    )
