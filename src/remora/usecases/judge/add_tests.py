"""Plans a run that adds the cases which remarks of a judgement name to existing tests."""

from remora.bootstrap.invocation import Invocation
from remora.ids import file_of_key, split_node_key
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.planning.run_request import RunRequest
from remora.runs.project import Project
from remora.usecases.analyze.prepare_run import prepare
from remora.usecases.judge.judge_change import Judgement


def prepare_added_tests(
    invocation: Invocation, project: Project, judgement: Judgement
) -> PreparedRun:
    """Plan jobs for the functions whose tests miss a fault on a changed line.

    The judged change must end with the files of the project.
    """
    missed = dict[str, dict[str, tuple[int, ...]]]()
    for nodes in judgement.missed.values():
        for key, lines in nodes.items():
            missed.setdefault(file_of_key(key), {})[split_node_key(key)[1]] = tuple(lines)
    request = RunRequest(
        operations=tuple(judgement.missed),
        keys=frozenset(key for nodes in judgement.missed.values() for key in nodes),
        missed=missed,
    )
    return prepare(invocation, request, project)
