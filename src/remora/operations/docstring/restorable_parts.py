"""Parts of docstrings that the operation would miss and could write, for `remora eval`."""

import ast
import copy
import dataclasses
from collections import defaultdict
from collections.abc import Mapping

from remora.code.syntax.docstring_sections import parse_docstring
from remora.code.syntax.source import Unreadable, read_source
from remora.operations.docstring.documented_node import DocumentedNode, find_documented
from remora.operations.docstring.exceptions.exception_classes import ExceptionClasses
from remora.operations.docstring.hidden_descriptions import (
    SUMMARY,
    compare_parts,
    documented_parts,
    hide_parts,
    text_without,
)
from remora.operations.docstring.host_docstring import MAX_SIBLINGS
from remora.operations.docstring.known_texts import update_plan
from remora.operations.docstring.name_words import only_repeats_name
from remora.operations.docstring.related_texts import FileTexts, RelatedTexts, collect_texts
from remora.operations.restorer import Restorer, Slot, Texts


def restorable_parts(texts: Texts) -> list[Slot]:
    """Return the documented parts that the operation would miss, and whose texts it accepts.

    Others say nothing about the operation or a model. A list of parameters that has one of two
    entries, for example, is not taken for an incomplete one, and a summary that only repeats names
    is refused.
    """
    slots = documented_parts(texts)
    contents = {path: text.encode() for path, text in texts.items() if path.endswith(".py")}
    related = _related_texts(contents)
    return [
        slot
        for slot in slots
        if _is_restorable(
            slot, find_documented(slot.path, contents[slot.path], slot.qualname, related[slot.path])
        )
    ]


def _is_restorable(slot: Slot, found: DocumentedNode) -> bool:
    if slot.part == SUMMARY:
        is_one_line = parse_docstring(found.text or "").summary.split() == slot.text.split()
        return is_one_line and _has_code(found) and not only_repeats_name(slot.text, found)
    return _unqualified(slot.part) in _missed_parts(found, slot.part)


def _has_code(found: DocumentedNode) -> bool:
    """Return True if the body is not empty: a docstring makes its `pass` or `...` unnecessary."""
    ellipsis = ast.dump(ast.Expr(ast.Constant(...)))
    return any(
        not isinstance(each, ast.Pass) and ast.dump(each) != ellipsis
        for each in found.node.body[1:]
    )


def _missed_parts(found: DocumentedNode, part: str) -> set[str]:
    """Return the parts that the operation would add to a docstring without `part`."""
    text = text_without(found.text or "", {part})
    node = copy.copy(found.node)
    node.body = [ast.Expr(ast.Constant(text)), *found.node.body[1:]]
    plan = update_plan(dataclasses.replace(found, node=node))
    known = {"parameters": plan.texts.parameters, "raises": plan.texts.raises}
    texts = (f"{kind}.{name}" for kind, names in known.items() for name in names)
    return set(map(_unqualified, (*plan.left, *texts)))


def _unqualified(part: str) -> str:
    """Return a part with the last component of its name: exceptions may be spelled with more."""
    kind, _, name = part.partition(".")
    return f"{kind}.{name.rpartition('.')[2]}"


def _related_texts(contents: Mapping[str, bytes]) -> dict[str, RelatedTexts]:
    """Return what the docstrings of each file and of the other files in its folder say."""
    folders: dict[str, dict[str, FileTexts]] = defaultdict(dict)
    for path, content in sorted(contents.items()):
        source = read_source(path, content)
        if not isinstance(source, Unreadable):
            folders[path.rpartition("/")[0]][path] = collect_texts(source)
    classes = ExceptionClasses(contents.values)
    found = {}
    for files in folders.values():
        for path, own in files.items():
            near = [each for other, each in files.items() if other != path]
            found[path] = RelatedTexts(own=own, near=tuple(near[:MAX_SIBLINGS]), classes=classes)
    return found


RESTORER = Restorer(
    find=restorable_parts,
    hide=hide_parts,
    compare=compare_parts,
    alone=True,
    kind=lambda part: part.partition(".")[0],
)
