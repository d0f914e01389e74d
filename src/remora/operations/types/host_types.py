"""Host functions that count and write the missing annotations of a file."""

from collections.abc import Sequence
from typing import Any

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, lines_of_nodes
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.operations.types.ranking.linear_model import Ranked
from remora.operations.types.shared_inference import project_texts, session_for
from remora.operations.types.source.slots import Slot, SourceText, find_slots, functions_of
from remora.operations.types.writing.clean_file import without_findings
from remora.operations.types.writing.wrapped_signatures import partly_annotated_and_longer
from remora.tools.host.text_lines import decode
from remora.tools.tree import ToolTree

CODE = "missing annotation"


def missing_annotations(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Return how many annotations of parameters and results some functions of a file lack.

    `nodes` contains qualnames. If it is empty, all functions of the file count. The result has the
    keys `counts`, which is empty if nothing is missing, and `summary`.
    """
    return _described(len(_wanted(path, decode(path, place.read(path)).body, nodes)))


def annotate(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Write the annotations of a file that the project's code makes likely enough.

    Annotations that add a diagnostic of the type checker anywhere in the project, or a finding of
    ruff in the file, are left out.
    Returns the number of annotations in `written`, the type checkers that accepted them in `judges`,
    each one's place, source and probability in `chosen`, and the result of `missing_annotations`
    for the new content in `left`.
    """
    content = decode(path, place.read(path))
    text = content.body
    wanted = set(_wanted(path, text, nodes))
    session = session_for(place, project_texts(place))
    found = session.annotations(path, place, place.shared.planned)
    chosen = {key: term for key, term in found.items() if (key[1].number, key[1].name) in wanted}
    after = without_findings(place, path, text, lambda terms: session.text(path, terms), chosen)
    wrapped = partly_annotated_and_longer(text, after)
    if wrapped:
        chosen = {key: term for key, term in chosen.items() if key[1].number not in wrapped}
        after = without_findings(place, path, text, lambda terms: session.text(path, terms), chosen)
    if after != text:
        place.write(path, content._replace(body=after).bytes())
    missing = set(_wanted(path, after, nodes))
    left = len(missing)
    return {
        "written": len(wanted) - left,
        "judges": session.judges,
        "chosen": [
            _chosen(slot, session.candidate(path, slot))
            for path, slot in chosen
            if (slot.number, slot.name) not in missing
        ],
        "left": _described(left),
    }


def _chosen(slot: Slot, candidate: Ranked) -> dict[str, Any]:
    probability = round(candidate.probability, 4)
    place = {"number": slot.number, "name": slot.name}
    return {**place, "source": candidate.source, "probability": probability}


def _described(count: int) -> dict[str, Any]:
    words = {0: "no annotation is missing", 1: "1 annotation is missing"}
    summary = words.get(count, f"{count} annotations are missing")
    return {"counts": {CODE: count} if count else {}, "summary": summary}


def _wanted(path: str, text: str, nodes: Sequence[str]) -> list[tuple[int, str]]:
    """Return the number of the function and the name of each slot on the lines of `nodes`."""
    module = parse_module(path, text.encode())
    if not isinstance(module, Module):
        raise HostError(f"{path}: {module.detail}")
    lines = lines_of_nodes(module, [node_key(escape_path(path), node) for node in nodes])
    source = SourceText(text)
    starts = [node.lineno for _, node, _ in functions_of(source.tree)]
    return [(each.number, each.name) for each in find_slots(source) if starts[each.number] in lines]
