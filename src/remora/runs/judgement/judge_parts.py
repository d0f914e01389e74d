"""The judgement of a project's gates on what a user accepts, if it is only a part."""

from collections.abc import Callable, Sequence

from remora.judges.gates.measured_gate import Measurements
from remora.rmtree import try_remove_tree
from remora.runs.judgement.judgement import Judgement
from remora.runs.judgement.proposals import Proposals
from remora.runs.project import Project
from remora.runs.records.results import RunView
from remora.runs.review.ready_changes import ReadyChange
from remora.runs.review.recheck import Tree
from remora.workspaces.copy.slot import SlotDriver

Announce = Callable[[str], None]
"""Says how long a judgement will take, and what did not judge although it did in the run."""
_LONG = 2.0
"""Seconds of a judgement that users are told about."""


def announce_nothing(_text: str) -> None:
    """Say nothing."""


def judge_parts(
    project: Project,
    announce: Announce,
    view: RunView,
    changes: Sequence[ReadyChange],
    tree: Tree,
) -> dict[str, str]:
    """Return why changes may not be written to a tree, by agent.

    Nothing is judged unless one of them is only a part of what the gates judged in the run. All of
    them are then judged together.
    """
    seconds = project.config.gates.time_s
    if view.gates is None or not seconds or not any(change.is_part for change in changes):
        return {}
    is_long = view.gates.seconds >= _LONG
    if is_long:
        took = f"they took {view.gates.seconds:.0f} s in the run"
        announce(f"the project's own checks judge the part; {took}")

    told = set[str]()  # a gate that runs code is measured twice before the changes

    def tell(gate: str) -> None:
        if is_long and gate not in told:
            told.add(gate)
            announce(f"  {gate}")

    folder = project.cache / "bases" / f"{view.run_id}~part"
    try_remove_tree(folder)
    try:
        base = tree.copy(folder)
        proposals = Proposals(project, base, changes)
        with SlotDriver(base, project.cache / "slots").open() as workspace:
            measurements = Measurements(workspace, proposals.files, seconds, tell)
            recorded = Judgement(project, base, proposals, measurements).recorded()
        held = {gate.name for gate in view.gates.results if not gate.missing}
        for gate in recorded.results:
            if gate.missing and gate.name in held:
                announce(f"the part is not judged by {gate.name}: {gate.missing}")
        taken_out = recorded.taken_out
        return {taken.agent_id: "; ".join(taken.reasons) for taken in taken_out}
    finally:
        try_remove_tree(folder)
