"""Corrections of a docstring that follow from its code, without a writer."""

import re
from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from remora.code.syntax.effects import is_builtin_exception
from remora.operations.docstring.documented_node import DocumentedNode
from remora.operations.docstring.drift.finding import DocumentedCode, DriftFinding
from remora.operations.docstring.drift.parameters import are_similar
from remora.operations.docstring.parts import DocstringTexts, Item

_WORD = re.compile(r"[a-z0-9]+")
_ENDS_AFTER = re.compile(r"\s*(?:[.)\]]|$)")


class Mend(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to an existing docstring.

    `renames` maps documented parameters to their names in the signature. `removed` contains
    documented parameters that no longer exist. `replaced` contains a line, counted from 0, and the
    text on this line with its replacement. `parameters` and `raises` map parts that the docstring
    leaves out to their descriptions. `types` maps parameters without annotation to the type that
    other docstrings state.
    """

    renames: dict[str, str] = {}
    removed: frozenset[str] = frozenset()
    replaced: tuple[tuple[int, str, str], ...] = ()
    parameters: dict[str, str] = {}
    raises: dict[str, str] = {}
    types: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self.renames or self.removed or self.replaced or self.parameters or self.raises)


def mend_of(
    found: DocumentedNode, texts: DocstringTexts, escape: Callable[[str], str] = str
) -> Mend:
    """Return the certain changes to an existing docstring, and the descriptions in `texts`.

    Only parts that the docstring does not describe are added. `escape` makes a description ready
    for the docstring's literal.
    """
    code = found.code
    if code is None:
        return Mend()
    certain = _certain_mend(code, found.contradictions)
    renames = certain.renames | {
        each.old: texts.renames[each.old]
        for each in found.contradictions
        if each.code in ("unknown-parameter", "renamed-parameter") and each.old in texts.renames
    }
    missing = {each.name for each in found.contradictions if each.code == "missing-parameter"}
    sections = [each for each in code.parsed.sections if each.kind == "raises"]
    listed = {name for each in sections for item in each.items for name in item.names}
    listed |= {new for _, _, new in certain.replaced}
    return replace(
        certain,
        renames=renames,
        removed=certain.removed - set(renames),
        parameters={
            name: escape(text)
            for name, text in texts.parameters.items()
            if text and name in missing - set(renames.values())
        },
        types={
            name: known.type
            for name in texts.parameters
            if (known := found.related.parameter_text(name)) is not None and known.type
        },
        raises={
            name: escape(text)
            for name, text in texts.raises.items()
            if text and name.rpartition(".")[2] not in listed
        },
    )


def _certain_mend(code: DocumentedCode, findings: tuple[DriftFinding, ...]) -> Mend:
    """Return the changes that the code leaves no doubt about.

    An entry is removed only if the signature contradicts it: its parameter does not exist, and no
    parameter without an entry may be its new name. Nothing is removed from a method that a subclass
    may override.
    """
    renames = {
        each.old: each.new
        for each in findings
        if each.code == "renamed-parameter" and _is_certain(code, each)
    }
    kinds = {each.code for each in findings}
    removed = frozenset[str]()
    if not code.is_overridable and not kinds & {"renamed-parameter", "missing-parameter"}:
        removed = frozenset(each.name for each in findings if each.code == "unknown-parameter")
    return Mend(renames=renames, removed=removed, replaced=tuple(_replaced(code, findings)))


def _is_certain(code: DocumentedCode, finding: DriftFinding) -> bool:
    """Return True if the names are alike, or the description has a word of the new name."""
    if (
        finding.new.endswith(f"_{finding.old}")
        and f":param {finding.new.replace('_', ' ')}" in (code.parsed.lines[finding.line])
    ):
        return False  # the field has a space instead of an underscore
    if are_similar(finding.old, finding.new):
        return True
    item = _item(code, finding)
    text = " ".join(code.parsed.lines[item.first : item.last + 1]).lower() if item else ""
    words = {*_WORD.findall(finding.new.lower().replace("_", " "))}
    return bool(words & {*_WORD.findall(text)})


def _item(code: DocumentedCode, finding: DriftFinding) -> Item | None:
    items = (item for section in code.parsed.sections for item in section.items)
    return next((item for item in items if finding.old in item.names), None)


def _replaced(
    code: DocumentedCode, findings: tuple[DriftFinding, ...]
) -> Iterator[tuple[int, str, str]]:
    for each in findings:
        line = code.parsed.lines[each.line]
        if each.code == "wrong-default":
            after = line.partition(each.old)[2]
            if line.count(each.old) == 1 and _ENDS_AFTER.match(after):
                yield each.line, each.old, each.new
        elif each.code == "wrong-exception":
            if is_builtin_exception(each.old) and is_builtin_exception(each.new):
                yield each.line, each.old, each.new
        elif each.code == "wrong-type" and len(re.findall(rf"\b{each.old}\b", line)) == 1:
            yield each.line, each.old, each.new
