"""Host functions that count, propose and write the missing annotations of a file."""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from remora.code.edit.text_lines import decode
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, lines_of_nodes
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.operations.types.checker.judge import Terms
from remora.operations.types.ranking.type_candidates import Ranked
from remora.operations.types.shared_inference import project_texts, session_for
from remora.operations.types.source.signature_text import as_signature, says_something, types_in
from remora.operations.types.source.slots import RETURN, Slot, SourceText
from remora.operations.types.source.terms import without_none
from remora.operations.types.writing.clean_file import partly_annotated_and_longer, without_findings
from remora.tools.tree import ToolTree

CODE = "missing annotation"
_LIKELIEST = 3
Signatures = dict[str, str]
"""Signatures that a model proposed and the type checker accepted, by qualname."""


def missing_annotations(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Return how many annotations of parameters and results some functions of a file lack.

    `nodes` contains qualnames. If it is empty, all functions of the file count. The result has the
    keys `counts`, which is empty if nothing is missing, and `summary`.
    """
    return _described(len(_Functions(path, decode(path, place.read(path)).body, nodes).slots))


def open_signatures(
    place: ToolTree, path: str, nodes: list[str], signatures: Signatures
) -> list[dict[str, Any]]:
    """Return the functions with annotations that neither rules nor `signatures` provide.

    Each has its qualname in `function`, its `first` and `last` line, its missing `names`, where
    `return` is the result, and in `likely` the likeliest types of each. What the project mostly
    leaves out is not missing.
    What rules leave out because it would be scattered is missing only if nothing else is.
    """
    work = _Work(place, path, nodes)
    terms = work.by_rules | work.proposed(signatures)
    found = work.left({*terms, *work.left_out})
    if not found and not signatures:
        found = work.left(terms)
    return [work.described(slots) for slots in found]


def judge_signature(
    place: ToolTree, path: str, function: str, signature: str, signatures: Signatures
) -> dict[str, Any]:
    """Let the type checkers judge the types of a function's signature.

    `signatures` contains those that were accepted before. Returns the types that add no diagnostic
    anywhere in the project as a signature in `accepted`, or an empty string, and in `why` the
    reason why others are refused.
    """
    work = _Work(place, path, [])
    base = work.by_rules | work.proposed(signatures)
    try:
        types = work.types_of(function, signature)
        terms = {key: term for key, term in types.items() if key not in base}
        if not terms:
            return {"accepted": "", "why": "the signature has no type for what is missing"}
        kept, why = work.session.judge(terms, base, place)
    except HostError as error:
        return {"accepted": "", "why": error.message}
    own = work.definitions(function)
    accepted = {slot.name: term for (_, slot), term in kept.items() if slot.number in own}
    return {"accepted": as_signature(accepted) if accepted else "", "why": why}


def annotate(
    place: ToolTree, path: str, nodes: list[str], signatures: Signatures
) -> dict[str, Any]:
    """Write the annotations of a file that the project's code makes likely enough.

    Types that a model proposed in `signatures` are written, too, and with them those that would
    otherwise be scattered. Annotations that add a diagnostic of the type checker anywhere in the
    project, or a finding of ruff in the file, are left out.

    Returns the number of annotations in `written`, the type checkers that accepted them in
    `judges`, each one's place, source and probability in `chosen`, and the result of
    `missing_annotations` for the new content in `left`.
    """
    work = _Work(place, path, nodes)
    session, text = work.session, work.content.body
    proposed = work.proposed(signatures)
    more: Terms = {}
    if proposed:
        with suppress(HostError):  # a checker fails with all of them
            more, _ = session.judge(work.left_out | proposed, work.by_rules, place)
    proposed = {key: term for key, term in more.items() if key in proposed}
    chosen = {
        key: term for key, term in (work.by_rules | more).items() if key[1] in work.functions.slots
    }

    def write(terms: Terms) -> str:
        return session.text(path, terms, proposed)

    after = without_findings(place, path, text, write, chosen)
    wrapped = partly_annotated_and_longer(text, after) - {slot.number for _, slot in proposed}
    if wrapped:
        chosen = {key: term for key, term in chosen.items() if key[1].number not in wrapped}
        after = without_findings(place, path, text, write, chosen)
    if after != text:
        place.write(path, work.content._replace(body=after).bytes())
    missing = {(each.number, each.name) for each in _Functions(path, after, nodes).slots}
    return {
        "written": len(work.functions.slots) - len(missing),
        "judges": session.judges,
        "chosen": [
            _chosen(slot, None if (path, slot) in proposed else session.candidate(path, slot))
            for path, slot in chosen
            if (slot.number, slot.name) not in missing
        ],
        "left": _described(len(missing)),
    }


class _Functions:
    """The functions of a file, and the missing annotations on the lines of `nodes`."""

    def __init__(self, path: str, text: str, nodes: Sequence[str]) -> None:
        module = parse_module(path, text.encode())
        if not isinstance(module, Module):
            raise HostError(f"{path}: {module.detail}")
        self.source = SourceText(text)
        lines = lines_of_nodes(module, [node_key(escape_path(path), node) for node in nodes])
        starts = [node.lineno for _, node, _ in self.source.functions]
        self.slots = [each for each in self.source.slots if starts[each.number] in lines]


class _Work:
    """The annotations of a file that rules find, and the slots of those that models propose."""

    def __init__(self, place: ToolTree, path: str, nodes: Sequence[str]) -> None:
        self._path, self._seconds_left = path, place.left
        self.content = decode(path, place.read(path))
        self.functions = _Functions(path, self.content.body, nodes)
        self.session = session_for(place, project_texts(place))
        self.by_rules = self.session.annotations(path, place, place.shared.planned)
        self.left_out = self.session.left_out(path, self.by_rules)

    def proposed(self, signatures: Mapping[str, str]) -> Terms:
        """Return the types of signatures for slots that rules leave."""
        found: Terms = {}
        for function, signature in signatures.items():
            found |= self.types_of(function, signature)
        return {key: term for key, term in found.items() if key not in self.by_rules}

    def types_of(self, function: str, signature: str) -> Terms:
        """Return the types of a signature for a function, and for others that must agree with it.

        The methods that override it get the types of its parameters. Types that say nothing count
        only where related methods have them.
        """
        own = self.definitions(function)
        overriding = {each for number in own for each in self.session.overrides(self._path, number)}
        terms = types_in(signature, self.session.owners(self._path))
        return {
            (self._path, slot): terms[slot.name]
            for slot in self.functions.slots
            if slot.name in terms
            and (slot.number in own or (slot.number in overriding and slot.name != RETURN))
            and self._counts(slot, terms[slot.name])
        }

    def _counts(self, slot: Slot, term: str) -> bool:
        if says_something(term):
            return True
        return without_none(term) in self.session.stated(self._path, slot, self._seconds_left)

    def definitions(self, function: str) -> set[int]:
        """Return the numbers of the functions with a qualname.

        A function without decorators may be defined again under a condition, and mypy wants the
        same signature there.
        """
        source = self.functions.source
        again = {n for n, each in enumerate(source.qualnames) if _without_number(each) == function}
        if any(source.functions[number][1].decorator_list for number in again):
            again = set()
        return again | {n for n, each in enumerate(source.qualnames) if each == function}

    def left(self, known: Collection[tuple[str, Slot]]) -> list[list[Slot]]:
        """Return the missing annotations of each function that lacks some.

        Those that are `known`, or left out by habit, are not missing.
        """
        found: dict[int, list[Slot]] = {}
        for slot in self.functions.slots:
            if (self._path, slot) not in known and not self.session.omits(self._path, slot):
                found.setdefault(slot.number, []).append(slot)
        return list(found.values())

    def described(self, slots: Sequence[Slot]) -> dict[str, Any]:
        """Return a function with missing annotations, for `open_signatures`."""
        _, node, _ = self.functions.source.functions[slots[0].number]
        likely = {
            slot.name: self.session.likely(self._path, slot, _LIKELIEST, self._seconds_left)
            for slot in slots
        }
        return {
            "function": self.functions.source.qualnames[slots[0].number],
            "first": min([node.lineno, *(each.lineno for each in node.decorator_list)]),
            "last": node.end_lineno or node.lineno,
            "names": [slot.name for slot in slots],
            "likely": {name: terms for name, terms in likely.items() if terms},
        }


def _without_number(qualname: str) -> str:
    return re.sub(r"#\d+$", "", qualname)


def _chosen(slot: Slot, candidate: Ranked | None) -> dict[str, Any]:
    place = {"number": slot.number, "name": slot.name}
    if candidate is None:
        return {**place, "source": "model", "probability": None}
    return {**place, "source": candidate.source, "probability": round(candidate.probability, 4)}


def _described(count: int) -> dict[str, Any]:
    words = {0: "no annotation is missing", 1: "1 annotation is missing"}
    summary = words.get(count, f"{count} annotations are missing")
    return {"counts": {CODE: count} if count else {}, "summary": summary}
