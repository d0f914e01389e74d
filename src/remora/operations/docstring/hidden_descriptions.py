"""Hides docstrings and parts of them, and compares them with what the operation writes."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from msgspec.structs import replace

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.parsed_text import ParsedText
from remora.code.folders import is_vendored
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.definitions import DefinitionNode, find_definitions
from remora.code.syntax.docstring_sections import Item, ParsedDocstring, Section, parse_docstring
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.code.syntax.signature import docstring_text
from remora.ids import escape_path
from remora.operations.docstring.docstring_need import lacks_docstring
from remora.operations.docstring.literal import DocstringLiteral, read_literal
from remora.operations.restorer import Restored, Slot, Texts

SUMMARY = "summary"
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_QUOTES = str.maketrans("", "", "`'\"*")


class _Docstring(NamedTuple):
    """A docstring that has its lines for itself."""

    number: int
    qualname: str
    node: DefinitionNode
    literal: DocstringLiteral


def documented_parts(texts: Texts) -> list[Slot]:
    """Return summaries, and descriptions of parameters and exceptions.

    Tests and copied code have none. A hidden summary takes its docstring with it, so only those of
    public functions and classes count, whose docstring the operation would miss.
    """
    return [
        slot
        for path, text in texts.items()
        if path.endswith(".py") and not is_of_tests(path) and not is_vendored(path)
        for slot in _slots(path, text)
    ]


def _slots(path: str, text: str) -> Iterator[Slot]:
    module = parse_module(path, text.encode())
    if not isinstance(module, Module):
        return
    nodes = {node.qualname: node for node in module.nodes[1:]}
    for found in _docstrings(path, ParsedText(text)):
        node = nodes.get(found.qualname)
        if node is None or node.skip:
            continue
        parts = _parts(docstring_text(found.node.body) or "")
        if not lacks_docstring(module, replace(node, docstring=None)):
            parts.pop(SUMMARY, None)
        for part, words in parts.items():
            yield Slot(
                path=path, number=found.number, qualname=found.qualname, part=part, text=words
            )


def _docstrings(path: str, source: ParsedText) -> Iterator[_Docstring]:
    for number, each in enumerate(find_definitions(source.tree, escape_path(path))):
        value = docstring_text(each.node.body)
        if value is None:
            continue
        first = each.node.body[0]
        literal = read_literal(source.text[source.start(first) : source.end(first)], value)
        if literal is not None and _is_alone(source, first):
            yield _Docstring(number, each.qualname, each.node, literal)


def _is_alone(source: ParsedText, statement: ast.stmt) -> bool:
    """Return True if nothing else is on the lines of a statement."""
    last = statement.end_lineno or statement.lineno
    before = source.text[source.start_of_line(statement.lineno) : source.start(statement)]
    after = source.text[source.end(statement) : source.start_of_line(last + 1)]
    return not before.strip() and not after.strip()


def _parts(text: str) -> dict[str, str]:
    """Return the described parts of a docstring with their words."""
    parsed = parse_docstring(text)
    found = {SUMMARY: _summary(parsed)}
    for section in parsed.sections:
        for item in section.items:
            if item.text and (part := _part(section, item)):
                found.setdefault(part, item.text)
    return {part: words for part, words in found.items() if words}


def _summary(parsed: ParsedDocstring) -> str:
    """Return the first paragraph."""
    paragraph: list[str] = []
    starts = {section.first for section in parsed.sections}
    for number, line in enumerate(parsed.lines):
        if (paragraph and not line.strip()) or number in starts:
            break
        paragraph += line.split()
    return " ".join(paragraph)


def _part(section: Section, item: Item) -> str:
    """Return the part that an item describes, such as `parameters.name`, or an empty string."""
    if section.kind in ("parameters", "raises") and len(item.names) == 1:
        return f"{section.kind}.{item.names[0]}"
    return ""


def hide_parts(texts: Texts, slots: Sequence[Slot]) -> dict[str, str]:
    """Return the texts without some docstrings and parts of docstrings."""
    hidden: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for slot in slots:
        hidden[slot.path][slot.number].add(slot.part)
    return {
        path: _without_parts(path, text, hidden[path]) if path in hidden else text
        for path, text in texts.items()
    }


def _without_parts(path: str, text: str, hidden: dict[int, set[str]]) -> str:
    source = ParsedText(text)
    wanted = (each for each in _docstrings(path, source) if each.number in hidden)
    return apply_edits(text, [_edit(source, each, hidden[each.number]) for each in wanted])


def _edit(source: ParsedText, found: _Docstring, hidden: set[str]) -> Edit:
    statement = found.node.body[0]
    start, end = source.start(statement), source.end(statement)
    if SUMMARY not in hidden:
        literal = found.literal
        inner = text_without(literal.inner, hidden)
        return Edit(start, end, f"{literal.prefix}{literal.quotes}{inner}{literal.quotes}")
    if len(found.node.body) == 1:
        return Edit(start, end, "pass")
    last = statement.end_lineno or statement.lineno
    return Edit(source.start_of_line(statement.lineno), source.start_of_line(last + 1), "")


def text_without(text: str, hidden: set[str]) -> str:
    """Return a docstring without some parts, and without sections that would be empty."""
    parsed = parse_docstring(text)
    cut: set[int] = set()
    for section in parsed.sections:
        gone = [item for item in section.items if _part(section, item) in hidden]
        if len(gone) == len(section.items):
            cut |= _with_blank_lines(parsed, section.first, section.last)
        for item in gone:
            cut |= set(range(item.first, item.last + 1))
    return "\n".join(line for number, line in enumerate(parsed.lines) if number not in cut)


def _with_blank_lines(parsed: ParsedDocstring, first: int, last: int) -> set[int]:
    """Return the lines of a section, and those before it that are blank.

    Fields of reST follow each other, so blank lines before them are kept if another follows.
    """
    followed = any(section.first == last + 1 for section in parsed.sections)
    while first > 1 and not parsed.lines[first - 1].strip() and not followed:
        first -= 1
    return set(range(first, last + 1))


def compare_parts(slots: Sequence[Slot], _hidden: Texts, after: Texts) -> list[Restored]:
    """Compare descriptions. Case, articles, quotes and the full stop make no difference."""

    @cache
    def parts(path: str) -> dict[int, dict[str, str]]:
        definitions = find_definitions(ParsedText(after[path]).tree, escape_path(path))
        texts = (docstring_text(each.node.body) for each in definitions)
        return {number: _parts(text) for number, text in enumerate(texts) if text is not None}

    return [
        _compared(slot.text, parts(slot.path).get(slot.number, {}).get(slot.part, ""))
        for slot in slots
    ]


def _compared(people: str, written: str) -> Restored:
    if not written:
        return Restored(outcome="left")
    if written.split() == people.split():
        return Restored(outcome="exact", text=written)
    is_equal = _plain(written) == _plain(people)
    return Restored(outcome="equivalent" if is_equal else "different", text=written)


def _plain(text: str) -> str:
    words = " ".join(text.translate(_QUOTES).split()).rstrip(".").casefold()
    return _ARTICLE.sub("", words)
