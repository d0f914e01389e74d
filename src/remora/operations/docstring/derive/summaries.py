"""First lines that the code itself suggests for a docstring, the one to take when in doubt first."""

import ast
import re
from collections.abc import Iterator, Sequence

from remora.code.syntax.definitions import DefinitionNode, FunctionNode
from remora.code.syntax.effects import unqualified_name
from remora.code.syntax.source import Source
from remora.operations.docstring.derive.corpus import Evidence, comment_above
from remora.operations.docstring.derive.dictionary import LITTLE_WORDS, is_english
from remora.operations.docstring.derive.function_summary import (
    effect_text,
    function_sentence,
    is_question_or_form,
)
from remora.operations.docstring.derive.name_words import (
    is_plural,
    listed,
    phrase,
    sentence,
    with_a,
    words_of,
)
from remora.operations.docstring.expected import skeleton

_MOST_NAMES = 5
_RECORDS = frozenset(
    ("NamedTuple", "TypedDict", "Struct", "BaseModel", "dataclass", "define", "attrs")
)
_KINDS = frozenset(("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"))
_SPOKEN = re.compile(r"[aeiouy]", re.IGNORECASE)
_ENDINGS = ("Error", "Exception", "Warning")


def summaries(
    node: DefinitionNode | ast.Module, source: Source, evidence: Evidence, *, told: bool
) -> list[str]:
    """Sentences for the node, each once, that say more than its name does.

    `told`: sections below will say more; then a sentence that repeats the name will do.
    """
    found = [comment_above(node, source)]
    if isinstance(node, ast.ClassDef):
        found += _of_class(node, evidence, told=told)
    elif not isinstance(node, ast.Module):
        found += _of_function(node, evidence, told=told)
    return list(dict.fromkeys(sentence(text) for text in found if text))


def inherits(node: DefinitionNode | ast.Module, evidence: Evidence) -> bool:
    """Whether a base of its class documents a method of that name: its docstring is inherited."""
    name = getattr(node, "name", "")
    files = (evidence.own, *evidence.near)
    bases = [base for each in files for base in each.bases_of(evidence.owner)]
    return any((base, name) in each.methods for each in files for base in bases)


def _of_function(node: FunctionNode, evidence: Evidence, *, told: bool) -> Iterator[str]:
    text = function_sentence(node, skeleton(node), evidence.owner)
    own = words_of(node.name)
    if is_english(own, evidence) and is_english(words_of(evidence.owner), evidence):
        effect = "" if told else effect_text(node)
        text = f"{text}: {effect}" if text and effect else text
        # that it is asked, or turned into something, is more than the two names say
        owner = [] if is_question_or_form(own) else [evidence.owner, *words_of(evidence.owner)]
        fresh = {word.lower() for word in re.findall(r"[A-Za-z]+", text)} - LITTLE_WORDS
        if told or fresh - {word.lower() for word in (*own, *owner)}:
            yield text


def _of_class(node: ast.ClassDef, evidence: Evidence, *, told: bool) -> Iterator[str]:
    words = words_of(node.name)
    if not words or node.name.isupper() or not is_english(words, evidence):
        return
    bases = [unqualified_name(base) for base in node.bases]
    if bases and any(base.endswith(_ENDINGS) for base in (*bases, node.name)):
        yield from _of_error(node, evidence)
        return
    marks = {*bases, *(unqualified_name(each) for each in node.decorator_list)}
    fields = [phrase(words_of(each.name)) for each in skeleton(node).attributes]
    if marks & _KINDS:
        yield from _of_members(node, words)
    elif marks & _RECORDS and 1 < len(fields) <= _MOST_NAMES and not told:
        yield f"{with_a(words)}: {listed(fields)}"
    elif told:
        yield with_a(words)


def _of_error(node: ast.ClassDef, evidence: Evidence) -> Iterator[str]:
    below = evidence.own.subclasses.get(node.name, ())
    if len(below) > 1:
        shown = _quoted(below) if len(below) <= _MOST_NAMES else f"{len(below)} others"
        yield f"base class of {shown}"
    everywhere = (evidence.own, *evidence.near)
    raisers = [name for each in everywhere for name in each.raisers.get(node.name, ())]
    public = list(dict.fromkeys(name for name in raisers if not name.startswith("_")))
    if 0 < len(public) <= 3:
        yield f"raised by {_quoted(public)}"


def _of_members(node: ast.ClassDef, words: Sequence[str]) -> Iterator[str]:
    names = [
        words_of(target.id.lower())
        for each in node.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    ]
    members = [phrase(name) for name in names if all(_SPOKEN.search(word) for word in name)]
    if 1 < len(members) == len(names) <= _MOST_NAMES + 2:
        yield f"{phrase(words) if is_plural(words) else with_a(words)}: {listed(members, 'or')}"


def _quoted(names: Sequence[str]) -> str:
    return listed([f"`{name}`" for name in names])
