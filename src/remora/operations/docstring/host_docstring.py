"""Host functions of the docstring agent, which plan and write docstrings."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.code.syntax.docstring_sections import Style
from remora.code.syntax.source import Unreadable, read_source
from remora.errors import HostError
from remora.operations.docstring.describable_parts import describable_parts
from remora.operations.docstring.docstring_writer import is_writable, write
from remora.operations.docstring.documented_node import DocumentedNode, find_documented
from remora.operations.docstring.exceptions.exception_classes import ExceptionClasses
from remora.operations.docstring.known_texts import UpdatePlan, known_texts, update_plan
from remora.operations.docstring.name_words import only_repeats_name
from remora.operations.docstring.parts import STYLES, Describable, DocstringFormat, DocstringTexts
from remora.operations.docstring.related_texts import (
    FileTexts,
    RelatedTexts,
    collect_texts,
    possible_sections,
)
from remora.operations.docstring.style import StyleCounts, docstring_format
from remora.tools.host.ruff.finding import Finding, new_findings
from remora.tools.host.style_config import convention_of, width_of
from remora.tools.tree import ToolTree

TEXT_LIMIT = 240
MAX_SIBLINGS = 40
_MAX_FILES = 2000
_QUOTES = len('""""""')
_INLINE_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def docstring_plan(
    place: ToolTree, path: str, node: str, style: str | None = None
) -> dict[str, Any]:
    """Return what is missing from a node's docstring and what the code states.

    `node` is a qualname. The result contains:

    - `state`: `missing`, `inherited`, `outdated` or `current`
    - `style`: the docstring style to use
    - `parts`: lines about the contradictions, or about the parts to describe
    - `texts`: known descriptions of `parameters`, `outcome` and `raises`. For a new docstring, only
      in sections that others have. For an existing docstring, only the descriptions to add.
    - `open`: parts without a description, in the same sections
    - `mends`: True if the texts or the code alone allow a correction
    - `room`: maximum length of the summary
    """
    found = documented(place, path, node)
    describable = describable_parts(found.node)
    formatting = _format_for(place, path, style)
    if found.text is None:
        usual = _usual_parts(describable, found.related)
        texts = known_texts(usual, found.related)
        plan = UpdatePlan(texts=texts, left=tuple(_missing_texts(usual, texts)))
        state = "inherited" if found.related.inherits_docstring(found.node.name) else "missing"
        parts = list(_describable_lines(describable))
    else:
        plan = update_plan(found)
        parts = [each.message for each in found.contradictions]
        state = "outdated" if parts or plan.left or plan.mend else "current"
    return {
        "state": state,
        "style": formatting.style,
        "parts": parts,
        "texts": msgspec.to_builtins(plan.texts),
        "open": list(plan.left),
        "mends": bool(plan.mend) and is_writable(found, plan.texts),
        "room": _summary_width(found, formatting),
    }


def documented(place: ToolTree, path: str, node: str) -> DocumentedNode:
    """Find a node by its qualname, with the texts that are related to it.

    Raises HostError if the file does not parse or does not contain the node.
    """
    content = place.read(path)
    related = related_texts(path, content, partial(folder_texts, place), exception_classes(place))
    return with_related(find_documented(path, content, node), related)


def with_related(found: DocumentedNode, related: RelatedTexts) -> DocumentedNode:
    owner = getattr(found.parent, "name", "")
    return dataclasses.replace(found, related=replace(related, owner=owner))


def write_docstring(
    place: ToolTree, path: str, node: str, texts: dict[str, Any], style: str | None = None
) -> dict[str, Any]:
    """Write a missing docstring from `texts`, or correct an existing docstring.

    `texts` contains the strings `summary` and `outcome`, and the mappings `parameters` and
    `raises`, which are keyed by name. If the sections of a new docstring would violate the
    project's lint rules, only the summary is written. Raises HostError, without writing anything,
    if a text is not a single line, a summary only repeats the names of the signature, nothing can
    be corrected, or the file would have new findings.
    """
    found = documented(place, path, node)
    formatting = _format_for(place, path, style)
    valid = _validated_texts(texts, found, formatting)
    before = place.ruff.check_text(path, found.source.raw)
    extra: list[Finding] = []
    for form in [valid, DocstringTexts(summary=valid.summary)] if found.text is None else [valid]:
        content = write(found, form, formatting)
        extra = new_findings(before, place.ruff.check_text(path, content))
        if not extra:
            place.write(path, content)
            return {"path": path, "state": "added" if found.text is None else "mended"}
    raise HostError(f"{path}: the docstring would add {extra[0]['code']}: {extra[0]['message']}")


def _validated_texts(
    given: dict[str, Any], found: DocumentedNode, formatting: DocstringFormat
) -> DocstringTexts:
    try:
        texts = msgspec.convert(given, DocstringTexts, strict=True)
    except msgspec.ValidationError as error:
        raise HostError(f"texts: {error}") from None
    if found.text is None:
        room = _summary_width(found, formatting)
        if len(texts.summary) > room:
            raise HostError(f"the summary has {len(texts.summary)} characters (maximum {room})")
        if only_repeats_name(texts.summary, found):
            raise HostError("the summary only repeats the names of the signature")
    for text in (texts.summary, texts.outcome, *texts.parameters.values(), *texts.raises.values()):
        if text != text.strip() or not text.isprintable() or len(text) > TEXT_LIMIT:
            raise HostError(f"a text must be one line of at most {TEXT_LIMIT} characters")
        if '"""' in text or "'''" in text:
            raise HostError("a text must not contain triple quotes")
    return _in_format(texts, formatting)


def _in_format(texts: DocstringTexts, formatting: DocstringFormat) -> DocstringTexts:
    def quoted(text: str) -> str:
        return _INLINE_CODE.sub(rf"{formatting.tick}\1{formatting.tick}", text)

    return DocstringTexts(
        summary=quoted(texts.summary),
        parameters={name: quoted(text) for name, text in texts.parameters.items()},
        outcome=quoted(texts.outcome),
        raises={
            name: quoted(_as_condition(text, formatting)) for name, text in texts.raises.items()
        },
    )


def _as_condition(text: str, formatting: DocstringFormat) -> str:
    """Return the description of an exception, begun and ended as in the project."""
    if text.startswith("If "):
        text = formatting.condition + text[2:]
    return text.removesuffix(".") + formatting.period if text.endswith(".") else text


def _summary_width(found: DocumentedNode, formatting: DocstringFormat) -> int:
    return max(32, formatting.width - found.node.col_offset - 4 - _QUOTES)


def _describable_lines(describable: Describable) -> Iterator[str]:
    for each in describable.parameters:
        typed = f": {each.annotation}" if each.annotation else ""
        default = f" = {each.default}" if each.default else ""
        yield f"{each.kind}{each.name}{typed}{default}"
    if describable.outcome != "nothing":
        yield f"{describable.outcome} {describable.annotation or 'a value'}"
    yield from (f"raises {each.name} {each.reason}".rstrip() for each in describable.raises)


def _usual_parts(describable: Describable, related: RelatedTexts) -> Describable:
    """Return the parts of the sections that most other docstrings have."""
    omitted = [each for each in possible_sections(describable) if related.leaves_out(each)]
    return Describable(
        parameters=() if "parameters" in omitted else describable.parameters,
        outcome="nothing" if "returns" in omitted else describable.outcome,
        raises=() if "raises" in omitted else describable.raises,
        annotation=describable.annotation,
    )


def _missing_texts(describable: Describable, texts: DocstringTexts) -> Iterator[str]:
    """Yield the parts without a description, as `parameters.NAME`, `outcome` or `raises.NAME`."""
    for each in describable.parameters:
        if each.name not in texts.parameters:
            yield f"parameters.{each.name}"
    if describable.outcome != "nothing" and not texts.outcome:
        yield "outcome"
    yield from (
        f"raises.{each.name}" for each in describable.raises if each.name not in texts.raises
    )


def _format_for(place: ToolTree, path: str, style: str | None) -> DocstringFormat:
    if style is not None and style not in STYLES:
        raise HostError(f"{style!r} is not a docstring style; use {', '.join(STYLES)}")
    chosen: Style | None = style or convention_of(place, path)  # type: ignore[assignment]
    own = _texts_of_content(place.read(path))
    near_files = _siblings(path, partial(folder_texts, place))
    habits = [own[1], *(found[1] for found in near_files)] if own else []
    near = StyleCounts()
    for each in habits[1:]:
        near.add(each)
    return replace(
        docstring_format([*habits[:1], near], style=chosen, width=width_of(place, path, prose=True))
    )


def related_texts(
    path: str, content: bytes, texts_of: "TextsOfFolder", classes: ExceptionClasses
) -> RelatedTexts:
    """Return what the docstrings of a file and of the other files in its folder say."""
    own = _texts_of_content(content)
    return RelatedTexts(
        own=own[0] if own else FileTexts(),
        near=tuple(each[0] for each in _siblings(path, texts_of)),
        classes=classes,
    )


def exception_classes(place: ToolTree) -> ExceptionClasses:
    """Return the exception classes of a project. Its files are read on first use."""
    return ExceptionClasses(
        lambda: (content for _, content in islice(place.contents("**/*.py"), _MAX_FILES))
    )


_FileSummary = tuple[FileTexts, StyleCounts]
TextsOfFolder = Callable[[str], list[tuple[str, _FileSummary | None]]]
"""The result of `folder_texts` for a folder."""


def folder_texts(place: ToolTree, folder: str) -> list[tuple[str, _FileSummary | None]]:
    """Return the paths of the first files in a folder, with their texts or None."""
    paths = place.files.glob(f"{folder}/*.py" if folder else "*.py")[: MAX_SIBLINGS + 1]
    return [(path, _texts_of_file(place, path)) for path in paths]


def _siblings(path: str, texts_of: TextsOfFolder) -> list[_FileSummary]:
    """Return the texts of the first other files in the folder of a file."""
    others = [seen for each, seen in texts_of(path.rpartition("/")[0]) if each != path]
    return [seen for seen in others[:MAX_SIBLINGS] if seen is not None]


def _texts_of_file(place: ToolTree, path: str) -> _FileSummary | None:
    try:
        return _texts_of_content(place.read(path))
    except HostError:  # deleted or too large
        return None


@lru_cache(maxsize=4096)
def _texts_of_content(content: bytes) -> _FileSummary | None:
    source = read_source("", content)
    if isinstance(source, Unreadable):
        return None
    habits = StyleCounts()
    habits.see(source)
    return collect_texts(source), habits
