"""Arguments that a function gets while the examples of the documentation run."""

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

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

    Each item maps parameters to the source of literals. Calls with other arguments are left out,
    and so are arguments that differ in another run.
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
        run = functools.partial(run_in_child, place, [subject.import_root], [order])
        with ThreadPoolExecutor(2) as pool:
            runs = [each.of(0) or {} for each in pool.map(run, CIRCUMSTANCES)]
    except HostError:
        return []
    first, second = (each.get("arguments", []) for each in runs)
    return [each for each in first if each in second]
