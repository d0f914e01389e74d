"""Host functions of the docstring agent, which plan and write docstrings."""

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import islice
from typing import Any

from remora.code.docstrings.docstring_sections import Style
from remora.code.docstrings.documented_exceptions import ExceptionClasses, listable_exceptions
from remora.code.docstrings.documented_node import DocumentedNode, find_documented
from remora.code.docstrings.related_texts import (
    FileTexts,
    RelatedTexts,
    collect_texts,
    possible_sections,
)
from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.source import Unreadable, read_source
from remora.code.syntax.used_definitions import lines_used_by, outline
from remora.errors import HostError
from remora.judges.lint.new_findings import new_findings
from remora.operations.docstring.docstring_writer import (
    corrected_file,
    file_with_docstring,
    is_writable,
)
from remora.operations.docstring.given_text import (
    fitted_summary,
    plain_text,
    section_title,
    text_problem,
)
from remora.operations.docstring.mend import UpdatePlan, update_plan
from remora.operations.docstring.related_code import (
    callee_docstrings,
    calls_of_name,
    neighbour_docstrings,
    neighbours_with_docstring,
)
from remora.operations.docstring.style import STYLES, DocstringFormat, StyleCounts, docstring_format
from remora.tools.host.style_config import convention_of, width_of
from remora.tools.tree import ToolTree

_MAX_SIBLINGS = 40
_MAX_FILES = 2000
_QUOTES = len('""""""')


def docstring_plan(
    place: ToolTree, path: str, node: str, style: str | None = None
) -> dict[str, Any]:
    """Return what is wrong with a node's docstring, and what is known for it.

    `node` is a qualname. The result contains:

    - `state`: `missing`, `inherited`, `outdated` or `current`
    - `style`: the docstring style to use
    - `problems`: in words, what the docstring contradicts and leaves out
    - `sections`: the sections that a new docstring would have, as most others do
    - `mends`: True if the code alone allows a correction
    - `room`: maximum length of the first line
    - `ascii`: True if the node's code is ASCII
    """
    found = documented(place, path, node)
    formatting = _format_for(place, path, style)
    sections: list[str] = []
    if found.text is None:
        plan = UpdatePlan()
        state = "inherited" if found.related.inherits_docstring(found.node.name) else "missing"
        problems = ["the docstring is missing"] if state == "missing" else []
        sections = [
            section_title(kind, formatting.style)
            for kind in possible_sections(found.node)
            if not found.related.leaves_out(kind)
        ]
    else:
        plan = update_plan(found)
        problems = list(_problems(found, plan))
        state = "outdated" if problems or plan.mend else "current"
    return {
        "state": state,
        "style": formatting.style,
        "problems": problems,
        "sections": sections,
        "mends": bool(plan.mend) and is_writable(found),
        "room": _first_line_width(found, formatting),
        "ascii": ast.unparse(found.node).isascii(),
    }


def _problems(found: DocumentedNode, plan: UpdatePlan) -> Iterator[str]:
    """Yield the contradictions in words, and the exceptions that most docstrings would list."""
    yield from (contradiction.message for contradiction in found.contradictions)
    known = {name for wrong in found.contradictions for name in (wrong.name, wrong.new)}
    for kind, _, name in (part.partition(".") for part in plan.left):
        if name not in known:
            yield f"{'exception' if kind == 'raises' else 'parameter'} {name} is not described"


def documented(place: ToolTree, path: str, node: str) -> DocumentedNode:
    """Find a node by its qualname, with the texts that are related to it.

    Raises HostError if the file does not parse or does not contain the node.
    """
    content = place.read(path)
    related = related_texts(path, content, partial(folder_texts, place), exception_classes(place))
    return find_documented(path, content, node, related)


def mend_docstring(
    place: ToolTree, path: str, node: str, style: str | None = None
) -> dict[str, Any]:
    """Correct an existing docstring as far as the code says how.

    Raises HostError, without writing anything, if nothing can be corrected or the file would have
    new findings.
    """
    found = documented(place, path, node)
    content = corrected_file(found)
    before = place.ruff.check_text(path, found.source.raw)
    extra = new_findings(before, place.ruff.check_text(path, content))
    if extra:
        raise HostError(
            f"{path}: the docstring would add {extra[0]['code']}: {extra[0]['message']}"
        )
    place.write(path, content)
    return docstring_plan(place, path, node, style)


def write_docstring(
    place: ToolTree, path: str, node: str, text: str, style: str | None = None
) -> str:
    """Give a node a docstring with this text, in place of an earlier one.

    The text has no indentation. Long lines are wrapped, except for the first. Returns an empty
    string, or the reason for which the file is left as it was: the text cannot be a docstring, or
    the agent's checks would refuse the change.
    """
    found = documented(place, path, node)
    formatting = _format_for(place, path, style)
    room = _first_line_width(found, formatting)
    is_new_function = found.text is None and isinstance(found.node, FunctionNode)
    mood = formatting.mood if is_new_function else None
    plain = fitted_summary(plain_text(text), room, mood)
    if problem := text_problem(plain, room):
        return problem
    try:
        place.write(found.path, file_with_docstring(found, plain, formatting))
    except HostError as error:
        return error.message
    refused = "; ".join(place.judge())
    if refused:
        place.write(found.path, found.source.raw)
    return refused


def related_facts(place: ToolTree, path: str, node: str) -> dict[str, Any]:
    """Return what helps to write a node's docstring, as facts for a packet."""
    found = documented(place, path, node)
    texts = neighbour_docstrings(found)
    facts = {
        **neighbours_with_docstring(found),
        **{f"docstring of {name}": text for name, text in texts.items()},
        "calls": callee_docstrings(place, found),
        "exceptions": list(listable_exceptions(found.node)),
    }
    return {name: fact for name, fact in facts.items() if fact}


def related_lines(
    place: ToolTree, path: str, node: str, *, outlined: bool = False
) -> list[list[int]]:
    """Return the first and last lines of code in the file that a node's meaning depends on.

    If `outlined`, they are those of the node itself and of the beginning of its class, in few lines.
    """
    found = documented(place, path, node)
    if outlined:
        return outline(found.source.tree, found.node)
    return lines_used_by(found.source.tree, found.node)


def calls_of(place: ToolTree, node: str, callers: list[str]) -> list[dict[str, Any]]:
    """Return some calls of a node by its name: their `path`, `line`, and the `code` around them.

    `callers` are links of the Hub to the callers. Without any, all files are searched.
    """
    return calls_of_name(place, node.rpartition(".")[2].partition("#")[0], callers)


def _first_line_width(found: DocumentedNode, formatting: DocstringFormat) -> int:
    return max(32, formatting.width - found.node.col_offset - 4 - _QUOTES)


def _format_for(place: ToolTree, path: str, style: str | None) -> DocstringFormat:
    if style is not None and style not in STYLES:
        raise HostError(f"{style!r} is not a docstring style; use {', '.join(STYLES)}")
    chosen: Style | None = style or convention_of(place, path)  # type: ignore[assignment]
    own = _texts_of_content(place.read(path))
    near_files = _siblings(path, partial(folder_texts, place))
    habits = [own[1], *(summary[1] for summary in near_files)] if own else []
    near = StyleCounts()
    for habit in habits[1:]:
        near.add(habit)
    width = width_of(place, path)
    return docstring_format([*habits[:1], near], style=chosen, width=width)


def related_texts(
    path: str, content: bytes, texts_of: "TextsOfFolder", classes: ExceptionClasses
) -> RelatedTexts:
    """Return what the docstrings of a file and of the other files in its folder say."""
    own = _texts_of_content(content)
    return RelatedTexts(
        own=own[0] if own else FileTexts(),
        near=tuple(sibling[0] for sibling in _siblings(path, texts_of)),
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
    paths = place.files.glob(f"{folder}/*.py" if folder else "*.py")[: _MAX_SIBLINGS + 1]
    return [(path, _texts_of_file(place, path)) for path in paths]


def _siblings(path: str, texts_of: TextsOfFolder) -> list[_FileSummary]:
    """Return the texts of the first other files in the folder of a file."""
    others = [seen for other, seen in texts_of(path.rpartition("/")[0]) if other != path]
    return [seen for seen in others[:_MAX_SIBLINGS] if seen is not None]


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
