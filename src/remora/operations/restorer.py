"""Parts that people wrote: hidden from an operation, and compared with what it writes instead."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Literal

import msgspec

from remora.code.edit.edits import Edit, apply_edits

Outcome = Literal["exact", "equivalent", "different", "left"]
"""The same text up to its layout, the same meaning, another meaning, or nothing written."""
Texts = Mapping[str, str]
"""The texts of a project's Python files, by path. All of them parse."""
Place = tuple[int, str]
"""Number of a definition in its file, and name of a part."""


class HiddenSlot(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A part of a file that people wrote and that an operation can write."""

    path: str
    """The path of the file."""
    number: int
    """The position of the definition among those of the file, of which several may have a name."""
    qualname: str
    """The name of the definition."""
    part: str
    """The part of the definition, such as `parameter x` or `return`."""
    text: str
    """What people wrote."""
    meaning: str
    """Texts with the same meaning are equivalent, unless it is empty."""


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """Text that an operation wrote in place of a slot's text, compared with it."""

    outcome: Outcome
    text: str = ""


class Restorer(msgspec.Struct, frozen=True, kw_only=True):
    """The part of an operation that finds and hides what people wrote, for `remora eval`.

    - `find` returns everything that the operation would miss and could write, if it were hidden.
    - `read` returns these parts of files, whether a person or the operation wrote them.
    - `hide` returns the texts of all files without the given slots.
    """

    find: Callable[[Texts], Sequence[HiddenSlot]]
    read: Callable[[Texts], Iterable[HiddenSlot]]
    hide: Callable[[Texts, Sequence[HiddenSlot]], dict[str, str]]


def without_slots(
    texts: Texts,
    slots: Iterable[HiddenSlot],
    edits: Callable[[str, str, Set[Place]], Iterable[Edit]],
) -> dict[str, str]:
    """Return the texts without some slots.

    `edits` takes a path, a text, and the places of its slots, and returns the edits that remove
    them.
    """
    places: dict[str, set[Place]] = defaultdict(set)
    for slot in slots:
        places[slot.path].add((slot.number, slot.part))
    return {
        path: apply_edits(text, edits(path, text, places[path])) if path in places else text
        for path, text in texts.items()
    }


def compare(restorer: Restorer, slots: Sequence[HiddenSlot], after: Texts) -> list[Restored]:
    """Compare slots with the texts that an operation left behind."""
    now = {(slot.path, slot.number, slot.part): slot for slot in restorer.read(after)}
    return [_compared(slot, now.get((slot.path, slot.number, slot.part))) for slot in slots]


def _compared(people: HiddenSlot, written: HiddenSlot | None) -> Restored:
    if written is None:
        return Restored(outcome="left")
    if written.text == people.text:
        return Restored(outcome="exact", text=written.text)
    is_equal = people.meaning != "" and people.meaning == written.meaning
    return Restored(outcome="equivalent" if is_equal else "different", text=written.text)
