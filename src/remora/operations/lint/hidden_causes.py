"""Hides the causes of `raise` statements in handlers, and compares them with those written by B904."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.parsed_text import ParsedText
from remora.code.syntax.definitions import DefinitionNode
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, node_at_line
from remora.ids import split_node_key
from remora.operations.restorer import Restored, Restorer, Slot, Texts

_CODE = "B904"
_NONE = "None"
_FROM = re.compile(r"(?:\s|\\\n)*\bfrom\b")
_OWN_SCOPE = DefinitionNode | ast.Lambda


class _Raise(NamedTuple):
    """A `raise` statement of a new exception, and the handlers around it, the innermost last."""

    node: ast.Raise
    handlers: tuple[ast.ExceptHandler, ...]


def raise_causes(texts: Texts) -> list[Slot]:
    """Return the causes, such as `error` or `None`, of exceptions that are raised in handlers."""
    return [
        slot
        for path, text in texts.items()
        if path.endswith(".py") and " from " in text
        for slot in _slots(path, text)
    ]


def _slots(path: str, text: str) -> Iterator[Slot]:
    source, module = ParsedText(text), parse_module(path, text.encode())
    met: Counter[str] = Counter()
    for number, (node, _) in enumerate(_raises(source)):
        if node.cause is None or not isinstance(module, Module):
            continue
        _, qualname = split_node_key(node_at_line(module, node.lineno))
        met[qualname] += 1
        yield Slot(
            path=path,
            number=number,
            qualname=qualname,
            part=f"raise-from {met[qualname]}",
            text=source.text[source.start(node.cause) : source.end(node.cause)],
        )


def hide_causes(texts: Texts, slots: Sequence[Slot]) -> dict[str, str]:
    """Return the texts without some causes, and without names of handlers that only they used."""
    hidden: dict[str, set[int]] = defaultdict(set)
    for slot in slots:
        hidden[slot.path].add(slot.number)
    return {
        path: _without_causes(text, hidden[path]) if path in hidden else text
        for path, text in texts.items()
    }


def _without_causes(text: str, numbers: set[int]) -> str:
    source = ParsedText(text)
    removed = [each for n, each in enumerate(_raises(source)) if n in numbers]
    causes = {id(each.node.cause) for each in removed}
    handlers = {id(each.handlers[-1]): each.handlers[-1] for each in removed}
    edits = [_without_cause(source, each.node) for each in removed]
    for handler in handlers.values():
        uses = (node for node in ast.walk(handler) if isinstance(node, ast.Name))
        if not any(use.id == handler.name and id(use) not in causes for use in uses):
            edits += _without_name(source, handler)
    return apply_edits(text, edits)


def _without_cause(source: ParsedText, node: ast.Raise) -> Edit:
    assert node.exc is not None
    found = _FROM.search(source.text, source.end(node.exc))
    assert found is not None
    return Edit(found.start(), source.end(node), "")


def _without_name(source: ParsedText, handler: ast.ExceptHandler) -> Iterator[Edit]:
    if handler.name is not None and handler.type is not None:
        named = re.compile(rf"\s+as\s+{re.escape(handler.name)}\b")
        found = named.search(source.text, source.end(handler.type))
        if found is not None:
            yield Edit(found.start(), found.end(), "")


def compare_causes(slots: Sequence[Slot], hidden: Texts, after: Texts) -> list[Restored]:
    """Compare causes. The exception that is being handled is the same under another name."""
    before = {path: _raises(ParsedText(hidden[path])) for path in {slot.path for slot in slots}}
    written = {path: ParsedText(after[path]) for path in before}
    now = {path: _raises(source) for path, source in written.items()}
    return [
        _compared(slot, before[slot.path], now[slot.path], written[slot.path]) for slot in slots
    ]


def _compared(
    slot: Slot, before: Sequence[_Raise], after: Sequence[_Raise], source: ParsedText
) -> Restored:
    cause = after[slot.number].node.cause if len(after) == len(before) else None
    if cause is None:
        return Restored(outcome="left")
    text = source.text[source.start(cause) : source.end(cause)]
    if text == slot.text:
        return Restored(outcome="exact", text=text)
    is_handled = _was_handled(slot.text, before[slot.number].handlers)
    is_equal = is_handled and text == after[slot.number].handlers[-1].name
    return Restored(outcome="equivalent" if is_equal else "different", text=text)


def _was_handled(cause: str, handlers: Sequence[ast.ExceptHandler]) -> bool:
    """Return True if a hidden cause was the exception that the innermost handler handles.

    If that has no name, its name was removed with the cause.
    """
    *outer, inner = handlers
    if inner.name is not None:
        return cause == inner.name
    return cause.isidentifier() and cause not in (_NONE, *(each.name for each in outer))


def _raises(source: ParsedText) -> list[_Raise]:
    """Return the `raise` statements in handlers that need a cause, in source order.

    Like ruff, this leaves out variables, such as `raise error`.
    """
    return [
        each
        for each in _in_block(source.tree.body, ())
        if each.node.exc is not None
        and not (isinstance(each.node.exc, ast.Name) and each.node.exc.id.islower())
    ]


def _in_block(body: Sequence[ast.AST], handlers: tuple[ast.ExceptHandler, ...]) -> Iterator[_Raise]:
    for node in body:
        if isinstance(node, ast.Raise) and handlers:
            yield _Raise(node, handlers)
        around = () if isinstance(node, _OWN_SCOPE) else handlers
        if isinstance(node, ast.ExceptHandler):
            around = (*handlers, node)
        yield from _in_block(list(ast.iter_child_nodes(node)), around)


RESTORER = Restorer(
    find=raise_causes,
    hide=hide_causes,
    compare=compare_causes,
    settings={"operations.lint.select": [_CODE]},
)
