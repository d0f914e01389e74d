"""The judgement of a project's gates on what a user accepts, if it is only a part."""

from collections.abc import Callable, Sequence

from remora.rmtree import try_remove_tree
from remora.runs.gates.judgement import Judgement
from remora.runs.gates.measured_gate import Measurements
from remora.runs.gates.proposals import Proposals
from remora.runs.project import Project
from remora.runs.records.results import RunView
from remora.runs.review.ready_changes import ReadyChange
from remora.runs.review.recheck import Tree
from remora.workspaces.copy.slot import SlotDriver

Announce = Callable[[float], None]
"""Says about how many seconds a judgement will take."""


def announce_nothing(_seconds: float) -> None:
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
    them are then judged together. `announce` is first given the seconds that the run's gates took.
    """
    seconds = project.config.gates.time_s
    if view.gates is None or not seconds or not any(change.is_part for change in changes):
        return {}
    announce(view.gates.seconds)
    folder = project.cache / "bases" / f"{view.run_id}~part"
    try_remove_tree(folder)
    try:
        base = tree.copy(folder)
        proposals = Proposals(project, base, changes)
        with SlotDriver(base, project.cache / "slots").open() as workspace:
            measurements = Measurements(workspace, proposals, seconds)
            judgement = Judgement(project, base, proposals, measurements)
            while judgement.take_out():
                pass
        taken_out = judgement.recorded().taken_out
        return {taken.agent_id: "; ".join(taken.reasons) for taken in taken_out}
    finally:
        try_remove_tree(folder)
