"""Hides annotations that people wrote, and compares them with those that the operation writes."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from remora.operations.restorer import (
    Choice,
    Restored,
    Restorer,
    Slot,
    SlotKey,
    Texts,
)
from remora.operations.types.source.bare_text import (
    Place,
    without_annotations,
    written_annotations,
)
from remora.operations.types.source.equal_types import aliases_in, is_equal
from remora.operations.types.source.slots import RETURN, SourceText, is_left_alone
from remora.operations.types.source.terms import canonical
from remora.operations.types.types_need import why_left_out

_PARAMETER = "parameter "


def written_slots(texts: Texts) -> list[Slot]:
    """Return the annotations of parameters and results that the operation could write.

    Tests, examples and other files that the operation leaves out have none.
    """
    return [
        slot
        for path, text in texts.items()
        if path.endswith(".py") and f"{path}i" not in texts and not why_left_out(path, texts)
        for slot in _slots(path, SourceText(text))
    ]


def _slots(path: str, source: SourceText) -> Iterator[Slot]:
    for (number, name), annotation in written_annotations(source).items():
        _, node, _ = source.functions[number]
        if not is_left_alone(source, node) and canonical(ast.unparse(annotation)):
            text = source.text[source.start(annotation) : source.end(annotation)]
            yield Slot(
                path=path,
                number=number,
                qualname=source.qualnames[number],
                part=_part(name),
                text=text,
            )


def hide_annotations(texts: Texts, slots: Sequence[Slot]) -> dict[str, str]:
    """Return the texts without the annotations of some slots, and what only these needed."""
    removed: dict[str, set[Place]] = defaultdict(set)
    for slot in slots:
        removed[slot.path].add(_place(slot))
    return without_annotations(texts, removed)


def compare_annotations(slots: Sequence[Slot], _hidden: Texts, after: Texts) -> list[Restored]:
    """Compare annotations with those in the texts that the operation left behind."""
    aliases = aliases_in(after.values())

    @cache
    def annotations(path: str) -> dict[Place, ast.expr]:
        return written_annotations(SourceText(after[path]))

    return [_compared(slot, annotations(slot.path).get(_place(slot)), aliases) for slot in slots]


def _compared(slot: Slot, written: ast.expr | None, aliases: Mapping[str, str]) -> Restored:
    if written is None:
        return Restored(outcome="left")
    text, people = ast.unparse(written), ast.unparse(ast.parse(f"({slot.text})", mode="eval"))
    if text == people:
        return Restored(outcome="exact", text=text)
    equal = is_equal(canonical(text), canonical(people), aliases)
    return Restored(outcome="equivalent" if equal else "different", text=text)


def choices_of(path: str, outputs: Sequence[Any]) -> dict[SlotKey, Choice]:
    """Return what chose each annotation, as the tool `annotate` reported it."""
    return {
        (path, each["number"], _part(each["name"])): Choice(
            source=each["source"], probability=each["probability"]
        )
        for output in outputs
        if isinstance(output, dict)
        for each in output.get("chosen", ())
    }


def _part(name: str) -> str:
    return RETURN if name == RETURN else _PARAMETER + name


def _place(slot: Slot) -> Place:
    return slot.number, slot.part.removeprefix(_PARAMETER)


RESTORER = Restorer(
    find=written_slots, hide=hide_annotations, compare=compare_annotations, choices=choices_of
)
