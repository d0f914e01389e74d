"""Hides docstrings and described parts of them that people wrote."""

import ast
import copy
import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import dropwhile, takewhile

from msgspec.structs import replace

from remora.code.docstrings.docstring_sections import (
    Item,
    ParsedDocstring,
    Section,
    parse_docstring,
)
from remora.code.docstrings.documented_exceptions import ExceptionClasses
from remora.code.docstrings.documented_node import DocumentedNode, find_documented
from remora.code.docstrings.name_words import only_repeats_name
from remora.code.docstrings.related_texts import FileTexts, RelatedTexts, collect_texts
from remora.code.edit.edits import Edit
from remora.code.edit.parsed_text import ParsedText
from remora.code.extract import parse_module
from remora.code.folders import is_vendored
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.definitions import DefinitionNode, find_definitions
from remora.code.syntax.nodes import Module
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Unreadable, read_source
from remora.ids import escape_path
from remora.operations.docstring.docstring_need import lacks_docstring
from remora.operations.docstring.host_docstring import MAX_SIBLINGS
from remora.operations.docstring.literal import DocstringLiteral, read_literal
from remora.operations.docstring.mend import update_plan
from remora.operations.restorer import HiddenSlot, Place, Restorer, Texts, without_slots

_SUMMARY = "summary"
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_QUOTES = str.maketrans("", "", "`'\"*")


def read_parts(texts: Texts) -> Iterator[HiddenSlot]:
    """Yield summaries, and descriptions of parameters and exceptions.

    Case, articles, quotes and the full stop make no difference to their meaning.
    """
    for path, text in texts.items():
        if not path.endswith(".py"):
            continue
        for number, definition in enumerate(
            find_definitions(ParsedText(text).tree, escape_path(path))
        ):
            for part, words in _parts(docstring_text(definition.node.body) or "").items():
                plain = words.translate(_QUOTES).rstrip(".").casefold()
                yield HiddenSlot(
                    path=path,
                    number=number,
                    qualname=definition.qualname,
                    part=part,
                    text=words,
                    meaning=_ARTICLE.sub("", plain),
                )


def _parts(text: str) -> dict[str, str]:
    """Return the described parts of a docstring with their words."""
    parsed = parse_docstring(text)
    found = {_SUMMARY: _first_paragraph(parsed)}
    for section in parsed.sections:
        for entry in section.items:
            found.setdefault(_part(section, entry), entry.text)
    return {part: " ".join(words.split()) for part, words in found.items() if part and words}


def _first_paragraph(parsed: ParsedDocstring) -> str:
    starts = {section.first for section in parsed.sections}
    lines = ["" if n in starts else line.strip() for n, line in enumerate(parsed.lines)]
    return " ".join(takewhile(bool, dropwhile(lambda line: not line, lines)))


def _part(section: Section, entry: Item) -> str:
    """Return the part that an entry describes, such as `parameters.name`, or an empty string."""
    if section.kind in ("parameters", "raises") and len(entry.names) == 1:
        return f"{section.kind}.{entry.names[0]}"
    return ""


def find_parts(texts: Texts) -> list[HiddenSlot]:
    """Return the parts that the operation would miss, and whose texts it accepts.

    Others say nothing about the operation or a model. A list of parameters that has one of two
    entries, for example, is not taken for an incomplete one, and a summary that only repeats names
    is refused. Tests and copied code have no parts.
    """
    contents = {path: text.encode() for path, text in texts.items() if path.endswith(".py")}
    related = _related_texts(contents)
    found: list[HiddenSlot] = []
    for path, content in contents.items():
        module = parse_module(path, content)
        if is_of_tests(path) or is_vendored(path) or not isinstance(module, Module):
            continue
        missed = {
            node.qualname: lacks_docstring(module, replace(node, docstring=None))
            for node in module.nodes[1:]
            if not node.skip
        }
        editable = {number for number, *_ in _docstrings(path, ParsedText(texts[path]))}
        found += [
            slot
            for slot in read_parts({path: texts[path]})
            if slot.number in editable
            and slot.qualname in missed
            and (missed[slot.qualname] or slot.part != _SUMMARY)
            and _is_restorable(slot, find_documented(path, content, slot.qualname, related[path]))
        ]
    return found


def _is_restorable(slot: HiddenSlot, found: DocumentedNode) -> bool:
    if slot.part == _SUMMARY:
        is_one_line = parse_docstring(found.text or "").summary.split() == slot.text.split()
        is_asked_for = not found.related.inherits_docstring(found.node.name)
        says_more = _has_code(found) and not only_repeats_name(slot.text, found)
        return is_asked_for and is_one_line and says_more
    return _unqualified(slot.part) in _missed_parts(found, slot.part)


def _has_code(found: DocumentedNode) -> bool:
    """Return True if the body is not empty: a docstring makes its `pass` or `...` unnecessary."""
    return any(ast.unparse(statement) not in ("pass", "...") for statement in found.node.body[1:])


def _missed_parts(found: DocumentedNode, part: str) -> set[str]:
    """Return the parts that the operation would add to a docstring without `part`."""
    text = _text_without(found.text or "", part)
    node = copy.copy(found.node)
    node.body = [ast.Expr(ast.Constant(text)), *found.node.body[1:]]
    return set(map(_unqualified, update_plan(dataclasses.replace(found, node=node)).left))


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
            near = [texts for other, texts in files.items() if other != path]
            found[path] = RelatedTexts(own=own, near=tuple(near[:MAX_SIBLINGS]), classes=classes)
    return found


def hide_parts(texts: Texts, slots: Sequence[HiddenSlot]) -> dict[str, str]:
    """Return the texts without some parts. A hidden summary takes its docstring with it."""
    return without_slots(texts, slots, _edits)


def _edits(path: str, text: str, places: Set[Place]) -> Iterator[Edit]:
    source, parts = ParsedText(text), dict(places)
    for number, node, literal in _docstrings(path, source):
        if number not in parts:
            continue
        statement = node.body[0]
        start, end = source.start(statement), source.end(statement)
        if parts[number] != _SUMMARY:
            inner = _text_without(literal.inner, parts[number])
            yield Edit(start, end, f"{literal.prefix}{literal.quotes}{inner}{literal.quotes}")
        elif len(node.body) == 1:
            yield Edit(start, end, "pass")
        else:
            last = statement.end_lineno or statement.lineno
            yield Edit(source.start_of_line(statement.lineno), source.start_of_line(last + 1), "")


def _docstrings(
    path: str, source: ParsedText
) -> Iterator[tuple[int, DefinitionNode, DocstringLiteral]]:
    """Yield the docstrings that have their lines for themselves, by number of their definition."""
    for number, definition in enumerate(find_definitions(source.tree, escape_path(path))):
        value, first = docstring_text(definition.node.body), definition.node.body[0]
        if value is None:
            continue
        start, end = source.start(first), source.end(first)
        line, after = first.lineno, (first.end_lineno or first.lineno) + 1
        around = source.text[source.start_of_line(line) : start]
        around += source.text[end : source.start_of_line(after)]
        literal = read_literal(source.text[start:end], value)
        if literal is not None and not around.strip():
            yield number, definition.node, literal


def _text_without(text: str, part: str) -> str:
    """Return a docstring without a part, and without a section that would be empty."""
    parsed = parse_docstring(text)
    cut: set[int] = set()
    for section in parsed.sections:
        gone = [entry for entry in section.items if _part(section, entry) == part]
        if len(gone) == len(section.items):
            cut |= _with_blank_lines(parsed, section.first, section.last)
        for entry in gone:
            cut |= set(range(entry.first, entry.last + 1))
    return "\n".join(line for number, line in enumerate(parsed.lines) if number not in cut)


def _with_blank_lines(parsed: ParsedDocstring, first: int, last: int) -> set[int]:
    """Return the lines of a section, and those before it that are blank.

    Fields of reST follow each other, so blank lines before them are kept if another follows.
    """
    followed = any(section.first == last + 1 for section in parsed.sections)
    while first > 1 and not parsed.lines[first - 1].strip() and not followed:
        first -= 1
    return set(range(first, last + 1))


RESTORER = Restorer(find=find_parts, read=read_parts, hide=hide_parts, alone=True)
