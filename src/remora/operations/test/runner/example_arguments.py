"""Arguments that a function gets while the examples of the documentation run."""

from collections.abc import Sequence

from remora.errors import HostError
from remora.operations.test.mutants import probe
from remora.operations.test.runner.parent import CIRCUMSTANCES, Order, run_in_child
from remora.operations.test.runner.trials import header_of
from remora.operations.test.target_function import TargetFunction
from remora.tools.tree import ToolTree

_SECONDS = 10.0


def example_arguments(
    place: ToolTree, subject: TargetFunction, examples: Sequence[Sequence[str]]
) -> list[dict[str, str]]:
    """Run the examples, which are lists of statements, and return the arguments of each call.

    Each item maps parameters to the source of literals. Calls with other arguments are left out, and
    so are arguments that differ in another run.
    """
    order: Order = {
        "module": subject.module,
        "package": subject.module.partition(".")[0],
        "path": str(place.seen / subject.path),
        "qualname": subject.qualname,
        "header": header_of(subject),
        "probe": probe(place.read(subject.path), subject.qualname),
        "snippets": [list(each) for each in examples],
        "seconds": _SECONDS,
    }
    try:
        runs = [
            run_in_child(place, [subject.import_root], [order], under).of(0) or {}
            for under in CIRCUMSTANCES
        ]
    except HostError:
        return []
    first, second = (run.get("arguments", []) for run in runs)
    return [each for each in first if each in second]
