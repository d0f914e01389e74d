"""Hides the causes of `raise` statements in handlers, which B904 asks for."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set

from remora.code.edit.edits import Edit
from remora.code.edit.parsed_text import ParsedText
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, node_at_line
from remora.ids import split_node_key
from remora.operations.lint.recipes.exceptions import MISSING, raises_in_handlers, without_name
from remora.operations.restorer import Place, Restorer, Slot, Texts, without_slots

_FROM = re.compile(r"(?:\s|\\\n)*\bfrom\b")
_HANDLED = "the handled exception"


def read_causes(texts: Texts) -> list[Slot]:
    """Return the causes, such as `error` or `None`, of exceptions that are raised in handlers."""
    return [
        slot
        for path, text in texts.items()
        if path.endswith(".py") and " from " in text
        for slot in _slots(path, text)
    ]


def _slots(path: str, text: str) -> Iterator[Slot]:
    """Yield the causes in a file. The exception that is handled is the same under any name."""
    source, module = ParsedText(text), parse_module(path, text.encode())
    met: Counter[str] = Counter()
    for number, (node, handler) in enumerate(raises_in_handlers(source.tree)):
        if not isinstance(module, Module):
            return
        _, qualname = split_node_key(node_at_line(module, node.lineno))
        met[qualname] += 1
        if node.cause is not None:
            cause = source.text[source.start(node.cause) : source.end(node.cause)]
            yield Slot(
                path=path,
                number=number,
                qualname=qualname,
                part=f"raise-from {met[qualname]}",
                text=cause,
                meaning=_HANDLED if cause == handler.name else cause,
            )


def hide_causes(texts: Texts, slots: Sequence[Slot]) -> dict[str, str]:
    """Return the texts without some causes, and without names of handlers that only they used."""
    return without_slots(texts, slots, _edits)


def _edits(_path: str, text: str, places: Set[Place]) -> Iterator[Edit]:
    source, numbers = ParsedText(text), {number for number, _ in places}
    removed = [
        raised for number, raised in enumerate(raises_in_handlers(source.tree)) if number in numbers
    ]
    causes = {id(node.cause) for node, _ in removed}
    for node, handler in removed:
        assert node.exc is not None
        found = _FROM.search(source.text, source.end(node.exc))
        assert found is not None
        yield Edit(found.start(), source.end(node), "")
        uses = (use for use in ast.walk(handler) if isinstance(use, ast.Name))
        if handler.name and not any(u.id == handler.name and id(u) not in causes for u in uses):
            yield without_name(source, handler)


RESTORER = Restorer(
    find=read_causes,
    read=read_causes,
    hide=hide_causes,
    settings={"operations.lint.select": [MISSING]},
)
