"""An operation from outside the package: add a license header to modules without one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remora.code.syntax.nodes import Module, Node
from remora.judges.submission import Submission
from remora.operations.base import Amount, JobFindings, Need, Operation, Parts, Phrase, Totals
from remora.tools.host_functions import HostFunction
from remora.tools.tree import ToolTree

HEADER = b"# SPDX-License-Identifier: MIT\n"
MISSING = "missing license header"


def add_license_header(place: ToolTree, path: str) -> str:
    """Put the license header at the top of a file."""
    place.write(path, HEADER + place.read(path))
    return HEADER.decode()


def has_license_header(submission: Submission) -> str:
    """Every changed file begins with the license header."""
    files = submission.files.items()
    bare = [path for path, (_, after) in files if not (after or b"").startswith(HEADER)]
    return f"{bare[0]} has no license header" if bare else ""


def lacks_header(place: ToolTree, modules: Sequence[Module], _options: Mapping[str, Any]) -> Amount:
    """Return 1 for a module without the header."""
    bare = {each.path for each in modules if not place.read(each.path).startswith(HEADER)}

    def amount(module: Module, node: Node) -> int:
        return int(module.path in bare and node.node_type == "module")

    return amount


def measure(jobs: Sequence[JobFindings], _planned: int) -> dict[str, int] | None:
    """Count the headers that were added."""
    known = [job for job in jobs if MISSING in job.codes]
    if not known:
        return None
    return {
        "added": sum(MISSING in job.fixed and job.is_counted for job in known),
        "of": len(known),
    }


def phrase(numbers: Mapping[str, int]) -> Phrase:
    """`2 of 2 license headers added`."""
    return Phrase(done=numbers["added"], of=numbers["of"], what="license headers added")


OPERATION = Operation(
    name="license-header",
    folder=Path(__file__).parent,
    load=lambda: Parts(
        needs={"license_header": Need(prepare=lacks_header)},
        checks={"has_license_header": has_license_header},
        host_functions=(HostFunction(function=add_license_header),),
    ),
    totals=Totals(key="license_headers", measure=measure, phrase=phrase),
)
