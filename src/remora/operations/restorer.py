"""Hiding of what people wrote, and comparison with what an operation writes in its place."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

Outcome = Literal["exact", "equivalent", "different", "left"]
"""The same text up to its layout, the same meaning, another meaning, or nothing written."""
Source = Literal["rule", "ranker", "checker", "model"]
"""What chose a text: a rule, a ranker, the type that a type checker infers, or a model."""
Texts = Mapping[str, str]
"""The texts of a project's Python files, by path. All of them parse."""


class Slot(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A part of a file that people wrote and that an operation can write.

    `number` is the position of the definition among those of the file, which tells definitions
    with the same name apart. `part` is for example `parameter x` or `summary`, and `text` what
    people wrote.
    """

    path: str
    number: int
    qualname: str
    part: str
    text: str


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What an operation wrote in place of a slot's text, and how it compares with it."""

    outcome: Outcome
    text: str = ""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What chose the text of a slot, and how likely it is right, if that was estimated."""

    source: Source
    probability: float | None = None


SlotKey = tuple[str, int, str]
"""Path, number and part of a slot."""


def key_of(slot: Slot) -> SlotKey:
    return slot.path, slot.number, slot.part


class Restorer(msgspec.Struct, frozen=True, kw_only=True):
    """The part of an operation that hides what people wrote, for `remora eval`.

    - `find` returns everything that the operation could write, if it were missing.
    - `hide` returns the texts of all files without the given slots.
    - `compare` takes slots, the hidden texts and those that the operation left behind, and returns
      one result for each slot.
    - `choices` takes the outputs of a job's tools on a file, and returns what chose each text. A
      slot without an entry was chosen by a rule, or by the model that made the job's decisions.
    - With `alone`, at most one slot of a definition is hidden, because the others show how.
    - `settings` are settings that the operation needs to see what is missing.
    - `kind` returns the kind of a slot's part, such as `parameter` for `parameter x`.
    """

    find: Callable[[Texts], Sequence[Slot]]
    hide: Callable[[Texts, Sequence[Slot]], dict[str, str]]
    compare: Callable[[Sequence[Slot], Texts, Texts], Sequence[Restored]]
    choices: Callable[[str, Sequence[Any]], Mapping[SlotKey, Choice]] = lambda _path, _outputs: {}
    alone: bool = False
    settings: Mapping[str, Any] = {}
    kind: Callable[[str], str] = lambda part: part.partition(" ")[0]
