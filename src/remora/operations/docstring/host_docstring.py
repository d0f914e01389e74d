"""Host functions of the docstring agent, which plan and write docstrings."""

import functools
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.code.syntax.source import Unreadable, read_source
from remora.errors import HostError
from remora.operations.docstring.derived_text import (
    describe_parts,
    inherits_docstring,
    suggested_summaries,
)
from remora.operations.docstring.describable_parts import describable_parts
from remora.operations.docstring.docstring_writer import (
    DocumentedNode,
    find_documented,
    undescribed_parts,
    write,
)
from remora.operations.docstring.parts import (
    STYLES,
    Describable,
    DocstringFormat,
    DocstringTexts,
    Style,
)
from remora.operations.docstring.related_texts import FileTexts, RelatedTexts, collect_texts
from remora.operations.docstring.style import StyleCounts, docstring_format
from remora.tools.host.ruff.new_findings import new_findings
from remora.tools.host.ruff.ruff_process import Finding, check_text
from remora.tools.host.style_config import convention_of, width_of
from remora.tools.tree import ToolTree

TEXT_LIMIT = 240
_MAX_SIBLINGS = 40
_MIN_SIMILARITY = 0.75
_CALLERS = 5
_QUOTES = len('""""""')
_WORD = re.compile(r"[a-z]+|[0-9]+")
_INLINE_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def docstring_plan(
    place: ToolTree,
    path: str,
    node: str,
    style: str | None = None,
    callers: list[str] | None = None,
) -> dict[str, Any]:
    """Return what is missing from a node's docstring and what the code suggests.

    `node` is a qualname, and `callers` contains the paths of files that call the node. The result
    contains:

    - `state`: `missing`, `inherited`, `outdated` or `current`
    - `style`: the docstring style to use
    - `parts`: lines about the parts to describe or correct
    - `summaries`: suggested summaries, best first
    - `texts`: known descriptions of `parameters`, `attributes`, `outcome` and `raises`
    - `open`: parts without a description
    - `renames`: pairs of a removed parameter and its likely new name
    - `room`: maximum length of the summary
    """
    found = find_documented(path, place.read(path), node)
    made_of = describable_parts(found.node)
    evidence = _related_texts(place, path, found, callers or [])
    texts = describe_parts(found.node, found.source, made_of, evidence)
    manner = _format_for(place, path, style)
    room = _summary_width(found, manner)
    offered = suggested_summaries(found.node, found.source, evidence)
    other = found.differences
    state = "missing" if found.text is None else "current"
    if found.text is not None and list(_differences(found)):
        state = "outdated"
    elif found.text is None and inherits_docstring(found.node, evidence):
        state = "inherited"
    return {
        "state": state,
        "style": manner.style,
        "parts": list(_differences(found)) or list(_describable_lines(made_of)),
        "summaries": [text for text in offered if len(text) <= room] if state == "missing" else [],
        "texts": msgspec.to_builtins(texts),
        "open": list(
            _missing_texts(made_of, texts)
            if found.text is None
            else undescribed_parts(found, texts)
        ),
        "renames": [
            [old, new]
            for old in sorted(other.unknown_parameters)
            for new in other.undocumented_parameters
            if _are_similar(old, new)
        ],
        "room": room,
    }


def write_docstring(
    place: ToolTree, path: str, node: str, texts: dict[str, Any], style: str | None = None
) -> dict[str, Any]:
    """Write a missing docstring from `texts`, or update an outdated docstring.

    `texts` contains the strings `summary` and `outcome`, and the mappings `parameters`,
    `attributes`, `raises` and `renames`, which are keyed by name. If the sections of a new
    docstring would violate the project's lint rules, only the summary is written. Raises HostError,
    without writing anything, if a text is not a single line or the file would have new findings.
    """
    found = find_documented(path, place.read(path), node)
    manner = _format_for(place, path, style)
    valid = _validated_texts(texts, found, manner)
    before = check_text(place, path, found.source.raw)
    extra: list[Finding] = []
    for form in [valid, DocstringTexts(summary=valid.summary)] if found.text is None else [valid]:
        content = write(found, form, manner)
        extra = new_findings(before, check_text(place, path, content))
        if not extra:
            place.write(path, content)
            return {"path": path, "state": "added" if found.text is None else "mended"}
    raise HostError(f"{path}: the docstring would add {extra[0]['code']}: {extra[0]['message']}")


def _validated_texts(
    given: dict[str, Any], found: DocumentedNode, manner: DocstringFormat
) -> DocstringTexts:
    try:
        texts = msgspec.convert(given, DocstringTexts, strict=True)
    except msgspec.ValidationError as error:
        raise HostError(f"texts: {error}") from None
    if found.text is None:
        room = _summary_width(found, manner)
        if len(texts.summary) > room:
            raise HostError(f"the summary has {len(texts.summary)} characters (maximum {room})")
    for text in _text_values(texts):
        if text != text.strip() or not text.isprintable() or len(text) > TEXT_LIMIT:
            raise HostError(f"a text must be one line of at most {TEXT_LIMIT} characters")
        if '"""' in text or "'''" in text:
            raise HostError("a text must not contain triple quotes")
    made: DocstringTexts = msgspec.convert(
        _quote_code(msgspec.to_builtins(texts), manner.tick), DocstringTexts
    )
    return made


def _text_values(texts: DocstringTexts) -> Iterator[str]:
    yield from (texts.summary, texts.outcome)
    for each in (texts.parameters, texts.attributes, texts.raises, texts.renames):
        yield from each.values()


def _quote_code(value: Any, tick: str) -> Any:
    if isinstance(value, dict):
        return {name: _quote_code(each, tick) for name, each in value.items()}
    return _INLINE_CODE.sub(rf"{tick}\1{tick}", value)


def _are_similar(old: str, new: str) -> bool:
    """Return True if the names share a word or are nearly equal, which suggests a rename."""
    shared = {*_WORD.findall(old.lower())} & {*_WORD.findall(new.lower())}
    return bool(shared) or SequenceMatcher(None, old, new).ratio() >= _MIN_SIMILARITY


def _summary_width(found: DocumentedNode, manner: DocstringFormat) -> int:
    column = getattr(found.node, "col_offset", -4) + 4
    return max(32, manner.width - column - _QUOTES)


def _differences(found: DocumentedNode) -> Iterator[str]:
    other = found.differences
    yield from (
        f"parameter {name} is documented but no longer exists"
        for name in sorted(other.unknown_parameters)
    )
    yield from (f"parameter {name} is not documented" for name in other.undocumented_parameters)
    if other.no_value:
        yield "a result is documented but not returned"
    yield from (f"{name} is documented but never raised" for name in sorted(other.never_raised))
    yield from (
        f"{name} is raised but not documented" for name in sorted(other.undocumented_exceptions)
    )


def _describable_lines(made_of: Describable) -> Iterator[str]:
    for each in (*made_of.parameters, *made_of.attributes):
        typed = f": {each.annotation}" if each.annotation else ""
        default = f" = {each.default}" if each.default else ""
        yield f"{each.kind}{each.name}{typed}{default}"
    if made_of.outcome != "nothing":
        yield f"{made_of.outcome} {made_of.annotation or 'a value'}"
    yield from (f"raises {each.name} {each.reason}".rstrip() for each in made_of.raises)


def _missing_texts(made_of: Describable, texts: DocstringTexts) -> Iterator[str]:
    """Yield the parts without a description, as `parameters.NAME`, `outcome` or `raises.NAME`."""
    for each in made_of.parameters:
        if each.name not in texts.parameters:
            yield f"parameters.{each.name}"
    if made_of.outcome != "nothing" and not texts.outcome:
        yield "outcome"
    yield from (f"raises.{each.name}" for each in made_of.raises if each.name not in texts.raises)


def _format_for(place: ToolTree, path: str, style: str | None) -> DocstringFormat:
    if style is not None and style not in STYLES:
        raise HostError(f"{style!r} is not a docstring style; use {', '.join(STYLES)}")
    chosen: Style | None = style or convention_of(place, path)  # type: ignore[assignment]
    own = _texts_of_content(place.read(path))
    habits = [own[1], *(found[1] for found in _sibling_files(place, path))] if own else []
    near = StyleCounts()
    for each in habits[1:]:
        near.add(each)
    return replace(
        docstring_format([*habits[:1], near], style=chosen, width=width_of(place, path, prose=True))
    )


def _related_texts(
    place: ToolTree, path: str, found: DocumentedNode, callers: list[str]
) -> RelatedTexts:
    own = _texts_of_content(found.source.raw)
    called = [_texts_of_file(place, each) for each in callers[:_CALLERS] if each != path]
    return RelatedTexts(
        own=own[0] if own else FileTexts(),
        near=tuple(each[0] for each in _sibling_files(place, path)),
        callers=tuple(each[0] for each in called if each is not None),
        owner=getattr(found.parent, "name", ""),
    )


_FileSummary = tuple[FileTexts, StyleCounts]


def _sibling_files(place: ToolTree, path: str) -> list[_FileSummary]:
    folder = path.rpartition("/")[0]
    pattern = f"{folder}/*.py" if folder else "*.py"
    others = [each for each in place.files.glob(pattern) if each != path][:_MAX_SIBLINGS]
    return [seen for each in others if (seen := _texts_of_file(place, each)) is not None]


def _texts_of_file(place: ToolTree, path: str) -> _FileSummary | None:
    try:
        return _texts_of_content(place.read(path))
    except HostError:  # deleted or too large
        return None


@functools.lru_cache(maxsize=256)
def _texts_of_content(content: bytes) -> _FileSummary | None:
    source = read_source("", content)
    if isinstance(source, Unreadable):
        return None
    habits = StyleCounts()
    habits.see(source)
    return collect_texts(source), habits
