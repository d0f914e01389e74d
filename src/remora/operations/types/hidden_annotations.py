"""Hides annotations that people wrote, and compares them with those that the operation writes."""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.parsed_text import ParsedText
from remora.operations.restorer import Choice, Restored, Restorer, Slot, SlotKey, Texts
from remora.operations.types.source.needless_imports import import_names, without_needless_imports
from remora.operations.types.source.slots import (
    RETURN,
    SourceText,
    functions_of,
    is_left_alone,
    parameters_of,
    written_annotations,
)
from remora.operations.types.source.terms import arguments_of, canonical, head_of, members_of, union
from remora.operations.types.types_need import why_left_out
from remora.python_text import parse

_FIELDS = re.compile("dataclass|attr|define|frozen|NamedTuple|TypedDict|Protocol|Model|Struct")
"""Classes whose annotations are fields."""
_Place = tuple[int, str]
"""Number of a function in its file, and name of a parameter or `return`."""
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
"""How often an alias in the meaning of an alias is replaced."""
_PARAMETER = "parameter "


def written_slots(texts: Texts) -> list[Slot]:
    """Return the annotations of parameters and results that the operation could write.

    Tests, examples and other files that the operation leaves out have none.
    """
    return [
        slot
        for path, text in texts.items()
        if path.endswith(".py") and f"{path}i" not in texts and not why_left_out(path, texts)
        for slot in _slots(path, SourceText(text))
    ]


def _slots(path: str, source: SourceText) -> Iterator[Slot]:
    for (number, name), annotation in written_annotations(source).items():
        _, node, _ = source.functions[number]
        if not is_left_alone(source, node) and canonical(ast.unparse(annotation)):
            text = source.text[source.start(annotation) : source.end(annotation)]
            yield Slot(
                path=path,
                number=number,
                qualname=source.qualnames[number],
                part=_part(name),
                text=text,
            )


def hide_annotations(texts: Texts, slots: Sequence[Slot]) -> dict[str, str]:
    """Return the texts without the annotations of some slots, and what only these needed."""
    removed: dict[str, set[_Place]] = defaultdict(set)
    for slot in slots:
        removed[slot.path].add(_place(slot))
    return without_annotations(texts, removed)


def compare_annotations(slots: Sequence[Slot], _hidden: Texts, after: Texts) -> list[Restored]:
    """Compare annotations with those in the texts that the operation left behind."""
    aliases = _aliases_in(after.values())

    @cache
    def annotations(path: str) -> dict[_Place, ast.expr]:
        return written_annotations(SourceText(after[path]))

    return [_compared(slot, annotations(slot.path).get(_place(slot)), aliases) for slot in slots]


def _compared(slot: Slot, written: ast.expr | None, aliases: Mapping[str, str]) -> Restored:
    if written is None:
        return Restored(outcome="left")
    text, people = ast.unparse(written), ast.unparse(parse(f"({slot.text})", "eval"))
    if text == people:
        return Restored(outcome="exact", text=text)
    equal = _is_equal(canonical(text), canonical(people), aliases)
    return Restored(outcome="equivalent" if equal else "different", text=text)


def choices_of(path: str, outputs: Sequence[Any]) -> dict[SlotKey, Choice]:
    """Return what chose each annotation, as the tool `annotate` reported it."""
    return {
        (path, each["number"], _part(each["name"])): Choice(
            source=each["source"], probability=each["probability"]
        )
        for output in outputs
        if isinstance(output, dict)
        for each in output.get("chosen", ())
    }


def _part(name: str) -> str:
    return RETURN if name == RETURN else _PARAMETER + name


def _place(slot: Slot) -> _Place:
    return slot.number, slot.part.removeprefix(_PARAMETER)


RESTORER = Restorer(
    find=written_slots, hide=hide_annotations, compare=compare_annotations, choices=choices_of
)


def _aliases_in(texts: Iterable[str]) -> dict[str, str]:
    """Return the type aliases that files define, by name. Those with several meanings are left out.

    All texts must parse.
    """
    found: dict[str, str] = {}
    for text in texts:
        for node in ParsedText(text).tree.body:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ) if isinstance(value, ast.Subscript | ast.BinOp) and name[:1].isalpha():
                    term = canonical(ast.unparse(value))
                    found[name] = term if found.get(name, term) == term else ""
    return {name: term for name, term in found.items() if term}


def _is_equal(first: str, second: str, aliases: Mapping[str, str]) -> bool:
    """Return True if a type checker makes no difference between two canonical types."""
    return bool(first and second) and _plain(first, aliases) == _plain(second, aliases)


def _plain(term: str, aliases: Mapping[str, str]) -> str:
    """Return a type without aliases, with all arguments, and with the members of unions in order.

    Members that others include are left out.
    """
    for _ in range(_MOST_ALIASES):
        expanded = _WORD.sub(lambda found: aliases.get(found[0], found[0]), term)
        if expanded == term:
            break
        term = canonical(expanded) or term
    members = [_with_arguments(each, aliases) for each in members_of(term)]
    included = set[str]().union(*(_NARROWER.get(each, ()) for each in members))
    return union(sorted(each for each in members if each not in included))


def _with_arguments(term: str, aliases: Mapping[str, str]) -> str:
    arguments = arguments_of(term)
    if not arguments:
        return f"{term}[{_ARGUMENTS[term]}]" if term in _ARGUMENTS else term
    if head_of(term) in ("Literal", ""):
        return term
    inner = (each if each.startswith("[") else _plain(each, aliases) for each in arguments)
    return f"{head_of(term)}[{', '.join(inner)}]"


def without_annotations(
    texts: Mapping[str, str], removed: Mapping[str, Collection[_Place]]
) -> dict[str, str]:
    """Return the texts of files without some annotations, and without imports that only they need.

    If all annotations of a file are removed, those of attributes are removed, too, except fields of
    dataclasses and the like.
    """
    imported = {name for text in texts.values() for name in import_names(text)}
    return {
        path: _bare(path, text, removed[path], imported) if removed.get(path) else text
        for path, text in texts.items()
    }


def _bare(
    path: str, text: str, removed: Collection[_Place], imported: Collection[tuple[str, str]]
) -> str:
    source = SourceText(text)
    edits: list[Edit] = []
    kept = False
    for number, (_, node, owner) in enumerate(source.functions):
        for arg, _, default in parameters_of(node, owner):
            if arg.annotation is not None and (number, arg.arg) in removed:
                edits.append(_without_parameter(source, arg, has_default=default is not None))
            kept = kept or (arg.annotation is not None and (number, arg.arg) not in removed)
        if node.returns is not None and (number, RETURN) in removed:
            edits.append(_without_result(source, node.returns))
        kept = kept or (node.returns is not None and (number, RETURN) not in removed)
    if not kept:
        edits += _attribute_edits(source)
    return without_needless_imports(path, text, apply_edits(text, edits), imported)


def _without_parameter(source: SourceText, arg: ast.arg, *, has_default: bool) -> Edit:
    assert arg.annotation is not None
    start = source.start(arg) + len(arg.arg)
    end = source.end(arg.annotation)
    while source.text[end] in ")\"' \n" and has_default:
        end += 1
    if has_default and source.text[end] == "=":
        rest = source.text[end + 1 :]
        return Edit(start, end + 1 + len(rest) - len(rest.lstrip()), "=")
    return Edit(start, source.end(arg), "")


def _without_result(source: SourceText, returns: ast.expr) -> Edit:
    start = source.text.rindex("->", 0, source.start(returns))
    colon = source.text.index(":", source.end(returns))
    before = source.text[:start].rstrip().removesuffix("\\")
    return Edit(len(before.rstrip()), colon, "")


def _attribute_edits(source: SourceText) -> list[Edit]:
    every = [node for _, function, _ in functions_of(source.tree) for node in ast.walk(function)]
    found = [node for node in every if isinstance(node, ast.AnnAssign) and not node.simple]
    for owner in ast.walk(source.tree):
        if isinstance(owner, ast.ClassDef):
            head = map(ast.unparse, [*owner.decorator_list, *owner.bases, *owner.keywords])
            if not _FIELDS.search(" ".join(head)):
                found += [node for node in owner.body if isinstance(node, ast.AnnAssign)]
    return [_without_attribute(source, node) for node in dict.fromkeys(found)]


def _without_attribute(source: SourceText, node: ast.AnnAssign) -> Edit:
    if node.value is None:
        return Edit(source.start(node), source.end(node), "pass")
    equals = source.text.index("=", source.end(node.annotation))
    return Edit(source.end(node.target), equals, " ")
