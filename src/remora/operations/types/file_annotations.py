"""The annotations of one file: which were missing before a job, and which it has written by now."""

import ast
import re
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any

from remora.code.edit.text_lines import decode
from remora.code.syntax.definitions import FunctionNode, first_line
from remora.errors import HostError
from remora.judges.types.accepted_annotations import Terms
from remora.judges.types.project_index import Function
from remora.judges.types.slots import RETURN, Slot, SourceText, written_annotations
from remora.judges.types.terms import same, type_in
from remora.judges.types.type_checker import line_map
from remora.operations.types.calls import header_of
from remora.operations.types.refusals import may_read_annotations
from remora.operations.types.session import Verdict, project_texts, session_for
from remora.operations.types.signature_text import as_signature, types_in
from remora.operations.types.writing.clean_file import without_findings
from remora.tools.host.declared_type_checker import Diagnostic
from remora.tools.host.text_files import show_lines
from remora.tools.tree import ToolTree

_SHOWN = 3
"""Calls that are shown of a function."""
_FIRST, _LAST = 40, 19
"""Lines that are shown of a function with more than 60."""
_NAME_LIMIT = 60
"""Characters of a name that a fact keeps."""


def parsed(path: str, text: str) -> SourceText:
    """Return the text of a file. Raises HostError if it does not parse."""
    try:
        return SourceText(text)
    except SyntaxError as error:
        raise HostError(f"{path}: {error}") from error


def missing_slots(source: SourceText, nodes: Sequence[str]) -> list[Slot]:
    """Return the missing annotations of the functions in `nodes`, or of all."""
    names = source.qualnames
    return [slot for slot in source.slots if not nodes or names[slot.number] in nodes]


class FileAnnotations:
    """A file `before` the job and `now`, and the annotations in `slots` that it lacked before."""

    def __init__(self, place: ToolTree, path: str, nodes: Sequence[str]) -> None:
        self._place, self._path = place, path
        self.now = decode(path, place.read(path))
        texts = place.once(project_texts)
        self.before = texts[path]
        self.session = session_for(place, texts)
        if path not in self.session.index.files:
            raise HostError(f"{path} does not parse")
        self.file = self.session.index.files[path]
        self.slots = missing_slots(self.file.source, nodes)
        is_same = self.now.body == self.before
        self.source = self.file.source if is_same else parsed(path, self.now.body)

    def written(self, source: SourceText) -> Terms:
        """Return the annotations that a version of the file has in addition to those before."""
        found = {} if source is self.file.source else written_annotations(source)
        return {
            (self._path, slot): type_in(annotation, self.file.owners)
            for slot in self.file.source.slots
            if (annotation := found.get((slot.number, slot.name))) is not None
        }

    def save(self, source: SourceText) -> None:
        if source.text != self.now.body:
            self.source, self.now = source, self.now._replace(body=source.text)
            self._place.write(self._path, self.now.bytes())

    def write_accepted(self, asked: Terms) -> tuple[Terms, list[str]]:
        """Write those types that all checkers accept, beside the others or in their place.

        Returns them, and what is refused and accepted, by what and why, as sentences. Raises
        HostError if a checker fails with the types.
        """
        base = self.written(self.source)
        others = {key: term for key, term in base.items() if key not in asked}
        accepted, verdicts = self.session.judge(self._path, asked, others, self._place)
        said = self._said(asked, accepted, verdicts)
        every = base | accepted
        write = partial(self.session.text, self._path, proposed=every)
        after, findings = without_findings(self._place, self._path, self.before, write, every)
        said += [f"ruff refuses {first['code']}: {first['message']}" for first in findings[:1]]
        made = SourceText(after)
        kept = self.written(made)
        if not accepted or base.keys() - asked.keys() - kept.keys():
            return {}, said  # others would have to be left out for them
        self.save(made)
        accepted = {key: term for key, term in accepted.items() if key in kept}
        judges = " and ".join(verdict.judge for verdict in verdicts)
        words = f"the rest is accepted by {judges}" if said else f"accepted by {judges}"
        return accepted, [*said, words] if accepted else said

    def asked(self, function: str, signature: str) -> tuple[Terms, list[str]]:
        """Return the types of a signature for a function, and for others that must agree with it.

        The methods that override it get the types of its parameters. Also returns why others are
        refused. Raises HostError if there is no such function, or nothing to judge.
        """
        own = self.definitions(function)
        if not own:
            raise HostError(f"{self._path} has no function {function}")
        overriding = {n for number in own for n in self.session.overrides(self._path, number)}
        asked: Terms = {}
        said = []
        for name, term in types_in(signature, self.file.owners).items():
            slots = [slot for slot in self.slots if slot.name == name]
            given = [slot for slot in slots if slot.number in own]
            why = self._refusal(self.file.functions[min(own)], name, term, given)
            said += [why] if why else []
            also = [slot for slot in slots if slot.number in overriding and name != RETURN]
            asked |= {} if why else {(self._path, slot): term for slot in [*given, *also]}
        if not asked:
            raise HostError("; ".join(said) or "the signature has no type for what is missing")
        return asked, said

    def _refusal(self, function: Function, name: str, term: str, given: Sequence[Slot]) -> str:
        """Return why a type is not judged at all, or an empty string."""
        if not given:
            stays = dict(function.terms()).get(name, "")
            if stays:
                return "" if same(stays, term) else f"{name}: {stays} was there before and stays"
            return f"{name} is not a parameter that lacks a type"
        if not term:
            return f"{name}: not a type, which has only names, [], | and literals"
        refusals = (self.session.refusal(self._path, slot, term) for slot in given)
        return next((f"{name}: {term} {why}" for why in refusals if why), "")

    def _said(self, asked: Terms, kept: Terms, verdicts: Sequence[Verdict]) -> list[str]:
        """Return which types are refused, by what and why, as sentences."""
        judged = {*kept, *(key for verdict in verdicts for key in verdict.refused)}
        unknown = {key: term for key, term in asked.items() if key not in judged}
        said = [f"{_as_text(unknown)}: not known in the file"] if unknown else []
        return said + [
            f"{verdict.judge} refuses {_as_text(verdict.refused)}: {self._message(verdict.why)}"
            for verdict in verdicts
            if verdict.why is not None
        ]

    def _message(self, found: Diagnostic) -> str:
        """Return a diagnostic in words, with its line in the file as it is now."""
        if found.path != self._path:
            return f"{found.path}:{found.line}: {found.message}"
        lines = line_map(self.now.body, self.before)
        return f"line {lines.get(found.line, found.line)}: {found.message}"

    def definitions(self, function: str) -> set[int]:
        """Return the numbers of the functions with a qualname.

        A function without decorators may be defined again under a condition, and mypy wants the
        same signature there.
        """
        source = self.file.source
        names = [*enumerate(source.qualnames)]
        again = {number for number, name in names if re.sub(r"#\d+$", "", name) == function}
        if any(source.functions[number][1].decorator_list for number in again):
            again = set()
        return again | {number for number, name in names if name == function}

    def left(self, skipped: Sequence[str]) -> dict[int, list[Slot]]:
        """Return the missing annotations of each function that lacks some, by its number.

        Functions whose names begin with one of `skipped` are left out, decorated ones, and what the
        project leaves out.
        """
        written = self.written(self.source)
        found: dict[int, list[Slot]] = {}
        for slot in self.slots:
            is_skipped = self.file.source.qualnames[slot.number][:_NAME_LIMIT] in skipped
            if not (
                is_skipped
                or (self._path, slot) in written
                or may_read_annotations(self.file.functions[slot.number])
                or self.session.signatures.omits(slot)
            ):
                found.setdefault(slot.number, []).append(slot)
        return found

    def described(self, function: Function, missing: Sequence[Slot]) -> dict[str, Any]:
        """Return what a function lacks, for `functions_to_annotate`."""
        candidates = self.session.candidates
        likely = {slot.name: candidates.get((self._path, slot), "") for slot in missing}
        return {
            "function": self.source.qualnames[function.number],
            "names": [slot.name for slot in missing],
            "likely": {name: term for name, term in likely.items() if term},
        }

    def shown(self, function: Function) -> dict[str, Any]:
        """Return an excerpt with a function, its calls and its class, for `functions_to_annotate`."""
        _, node, owner = self.source.functions[function.number]
        first = first_line(node)
        last = node.end_lineno or node.lineno
        places = [[first, last]]
        if last - first > _FIRST + _LAST:
            places = [[first, first + _FIRST - 1], [last - _LAST + 1, last]]
        return {
            "excerpt": show_lines(self._place, self._path, places),
            "calls": [*islice(dict.fromkeys(self.session.calls.sites(function)), _SHOWN)],
            "owner": [] if owner is None else _class_lines(owner),
        }

    def header(self, number: int) -> str:
        """Return the first line of a function as it is now, on one line."""
        return header_of(self.source.functions[number][1])


def _as_text(terms: Terms) -> str:
    """Return types as signatures, each with the name of its function."""
    functions = dict.fromkeys(slot.function for _, slot in terms)
    return ", ".join(
        f"{name}{as_signature({s.name: t for (_, s), t in terms.items() if s.function == name})}"
        for name in functions
    )


def _class_lines(owner: ast.ClassDef) -> list[str]:
    """Return the first line of a class, and that of its `__init__` if it has one."""
    bases = f"({', '.join(map(ast.unparse, owner.bases))})" if owner.bases else ""
    made = (
        method
        for method in owner.body
        if isinstance(method, FunctionNode) and method.name == "__init__"
    )
    return [f"class {owner.name}{bases}:", *map(header_of, made)]
