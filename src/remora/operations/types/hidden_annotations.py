"""Hides annotations that people wrote."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.parsed_text import ParsedText
from remora.code.syntax.definitions import ImportNode, assigned_values
from remora.code.syntax.hidden_uses import hidden_uses, used_words
from remora.code.syntax.source import parse_text
from remora.judges.types.slots import (
    RETURN,
    SourceText,
    is_left_alone,
    parameters_of,
    written_annotations,
)
from remora.judges.types.terms import arguments_of, canonical, head_of, members_of, union
from remora.operations.restorer import HiddenSlot, Place, Restorer, Texts, without_slots
from remora.operations.types.types_need import why_left_out

_ARGUMENTS = {
    **dict.fromkeys(("list", "set", "frozenset", "deque", "type", "Iterable", "Iterator"), "Any"),
    **dict.fromkeys(("Sequence", "Collection", "Set", "Awaitable", "AsyncIterator"), "Any"),
    **dict.fromkeys(("dict", "defaultdict", "Mapping", "MutableMapping"), "Any, Any"),
    **dict.fromkeys(("Generator", "Coroutine"), "Any, Any, Any"),
    **dict.fromkeys(("Pattern", "Match"), "Any"),
    "tuple": "Any, ...",
    "Callable": "..., Any",
}
"""The arguments of a type that is written without them."""
_NARROWER = {"float": {"int"}, "complex": {"int", "float"}}
"""Types that a number type includes."""
_WORD = re.compile(r"[^\W\d]\w*")
_MOST_ALIASES = 5
"""Number of times that an alias in the meaning of an alias is replaced."""


def read_annotations(texts: Texts) -> Iterator[HiddenSlot]:
    """Yield the annotations of parameters and results, except of overloads."""
    aliases = _aliases_in(texts.values())
    for path, text in texts.items():
        if path.endswith(".py"):
            yield from _slots(path, SourceText(text), aliases)


def find_annotations(texts: Texts) -> list[HiddenSlot]:
    """Return the annotations that the operation could write.

    Tests, examples and other files that the operation leaves out have none.
    """
    aliases = _aliases_in(texts.values())
    return [
        slot
        for path, text in texts.items()
        if path.endswith(".py") and f"{path}i" not in texts and not why_left_out(path, texts)
        for source in (SourceText(text),)
        for slot in _slots(path, source, aliases)
        if slot.meaning and not is_left_alone(source, source.functions[slot.number][1])
    ]


def _slots(path: str, source: SourceText, aliases: Mapping[str, str]) -> Iterator[HiddenSlot]:
    for (number, name), annotation in written_annotations(source).items():
        text = ast.unparse(annotation)
        yield HiddenSlot(
            path=path,
            number=number,
            qualname=source.qualnames[number],
            part=name if name == RETURN else f"parameter {name}",
            text=text,
            meaning=_plain(canonical(text), aliases),
        )


def hide_annotations(texts: Texts, slots: Sequence[HiddenSlot]) -> dict[str, str]:
    """Return the texts without some annotations, and without imports that only they need."""
    imported = {name for text in texts.values() for name in _import_names(text)}
    return {
        path: text
        if text == texts[path]
        else _without_needless_imports(path, texts[path], text, imported)
        for path, text in without_slots(texts, slots, _edits).items()
    }


def _edits(_path: str, text: str, places: Set[Place]) -> Iterator[Edit]:
    source = SourceText(text)
    for number, (_, node, owner) in enumerate(source.functions):
        for arg, _, default in parameters_of(node, owner):
            if (number, f"parameter {arg.arg}") in places:
                yield _without_parameter(source, arg, has_default=default is not None)
        if node.returns is not None and (number, RETURN) in places:
            start = text.rindex("->", 0, source.start(node.returns))
            before = text[:start].rstrip().removesuffix("\\").rstrip()
            yield Edit(len(before), text.index(":", source.end(node.returns)), "")


def _without_parameter(source: SourceText, arg: ast.arg, *, has_default: bool) -> Edit:
    start, end = source.start(arg) + len(arg.arg), source.end(arg)
    default = re.compile(r"[)\s]*=\s*").match(source.text, end) if has_default else None
    return Edit(start, end, "") if default is None else Edit(start, default.end(), "=")


RESTORER = Restorer(find=find_annotations, read=read_annotations, hide=hide_annotations)


def _aliases_in(texts: Iterable[str]) -> dict[str, str]:
    """Return the type aliases that files define, by name, without those with several meanings."""
    found: dict[str, str] = {}
    for text in texts:
        for name, value in assigned_values(ParsedText(text).tree.body):
            if isinstance(value, ast.Subscript | ast.BinOp) and name[:1].isalpha():
                term = canonical(ast.unparse(value))
                found[name] = term if found.get(name, term) == term else ""
    return {name: term for name, term in found.items() if term}


def _plain(term: str, aliases: Mapping[str, str]) -> str:
    """Return a canonical type as a type checker sees it.

    It has no aliases, all arguments, and the members of unions in order, without those that others
    include.
    """
    for _ in range(_MOST_ALIASES):
        expanded = _WORD.sub(lambda word: aliases.get(word[0], word[0]), term)
        if expanded == term:
            break
        term = canonical(expanded) or term
    members = [_with_arguments(member, aliases) for member in members_of(term)]
    included = set[str]().union(*(_NARROWER.get(member, ()) for member in members))
    return union(sorted(member for member in members if member not in included))


def _with_arguments(term: str, aliases: Mapping[str, str]) -> str:
    arguments = arguments_of(term)
    if not arguments:
        return f"{term}[{_ARGUMENTS[term]}]" if term in _ARGUMENTS else term
    if head_of(term) in ("Literal", ""):
        return term
    inner = (
        argument if argument.startswith("[") else _plain(argument, aliases)
        for argument in arguments
    )
    return f"{head_of(term)}[{', '.join(inner)}]"


def _import_names(text: str) -> set[tuple[str, str]]:
    """Return the names that a file imports from modules, with the last part of the module's name."""
    return {
        ((node.module or "").rpartition(".")[2], alias.name)
        for node in ast.walk(ParsedText(text).tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _without_needless_imports(
    path: str, before: str, after: str, imported: Collection[tuple[str, str]]
) -> str:
    """Return a file's new text without the imports that the old text used and that it does not use.

    Names in `imported`, which other files import from this one, are kept, and so are imports in
    `__init__.py`, which others may use, and statements with comments. So is everything if the new
    text does not parse. In a block, `pass` takes the place of an import.
    """
    stem = path.rpartition("/")[2].removesuffix(".py")
    if stem == "__init__" or isinstance(parse_text(after), str):
        return after
    source = ParsedText(after)
    needless = used_words(ParsedText(before).tree) - used_words(source.tree)
    needless -= hidden_uses(after, source.tree)
    needless -= {name for module, name in imported if module == stem}
    return apply_edits(after, _import_edits(source, needless))


def _import_edits(source: ParsedText, needless: Collection[str]) -> Iterator[Edit]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ImportNode):
            continue
        last = node.end_lineno or node.lineno
        kept = [name for name in node.names if _bound(name) not in needless]
        shared = any(mark in line for line in source.lines[node.lineno - 1 : last] for mark in "#;")
        if shared or len(kept) == len(node.names):
            continue
        if kept:
            text = ast.unparse(type(node)(**{**dict(ast.iter_fields(node)), "names": kept}))
            yield Edit(source.start(node), source.end(node), text)
        elif node.col_offset:
            yield Edit(source.start(node), source.end(node), "pass")
        else:
            yield Edit(source.start_of_line(node.lineno), source.start_of_line(last + 1), "")


def _bound(alias: ast.alias) -> str:
    """Return the name that an import binds. One with `import x as x` is kept for other files."""
    if alias.asname is not None:
        return "" if alias.asname == alias.name else alias.asname
    return alias.name.partition(".")[0]
