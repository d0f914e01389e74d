"""Which links outlive a change of files."""

from collections.abc import Mapping

from remora.code.callgraph.files.answer_inputs import CARRIERS, bit
from remora.code.callgraph.files.invalidation import touched
from remora.code.callgraph.files.program_protocol import Program
from remora.code.callgraph.linker import Carried, Linker
from remora.code.ir.model import LoweredFile
from remora.ids import split_node_key


def outlived(
    program: Program,
    linker: Linker,
    before: Mapping[str, LoweredFile | None],
    carried: Mapping[str, Carried],
) -> tuple[int, dict[str, Carried]]:
    """The inputs that are other than they were, and what is to be noted instead of some `carried`.

    `linker` is one of `program`, the present state; `before` are the changed files as they were;
    `carried` is what was noted of all `decisive` nodes then. A node whose `Linked.inputs` have none
    of these inputs, and whose file is none of the changed ones, has the same links still.
    """
    found = touched(program, before)
    renewed: dict[str, Carried] = {}
    for key, known in carried.items():
        if known.inputs & found or split_node_key(key)[0] in before:
            renewed[key] = linker.carried(key)
    for key, now in renewed.items():
        if now.names != carried[key].names:
            found |= bit(CARRIERS, key)
    return found, renewed
