"""A project with annotations written into its files, and what checkers say about them."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.import_edits import Imported, ImportStyle, import_edits
from remora.code.edit.text_lines import newline_of, with_newline
from remora.judges.types.accepted_annotations import Terms, settle
from remora.judges.types.project_index import File, ProjectIndex
from remora.judges.types.slots import RETURN, Slot, SourceText, parameters_of
from remora.judges.types.type_checker import TypeChecker, line_map, new_diagnostics
from remora.operations.types.writing.annotation_names import FileNames, ProjectNames
from remora.tools.host.declared_type_checker import Diagnostic
from remora.tools.host.style_config import habitual_width

_EQUALS = re.compile(r"\s*=[ \t]*(?=[^\s\\#])")
"""The sign between a parameter and its default, which begins on the same line."""


class AnnotatedFile(NamedTuple):
    """The text of a file with annotations. `written` contains these as source text."""

    written: dict[Slot, str]
    text: str


def annotated_file(file: File, names: FileNames, terms: Mapping[Slot, str]) -> AnnotatedFile:
    """Write types into a file, without those whose names the file cannot refer to."""
    written: dict[Slot, str] = {}
    needed: set[Imported] = set()
    lazy: set[Imported] = set()
    for slot, term in terms.items():
        annotation = names.write(term, file.functions[slot.number])
        if annotation is not None:
            written[slot] = annotation.text
            needed |= annotation.imports
            lazy |= annotation.lazy
    style = ImportStyle(width=habitual_width(file.source.text))
    new = ([name for name in names if name.name not in file.imports] for names in (needed, lazy))
    eager, late = new
    edits = [edit for slot in written if (edit := _edit(file.source, slot, written[slot]))]
    edits += import_edits(file.source, eager, style, late)
    newline = newline_of(file.source.text)
    edits = [edit._replace(text=with_newline(edit.text, newline)) for edit in edits]
    return AnnotatedFile(written, apply_edits(file.source.text, edits))


def _edit(source: SourceText, slot: Slot, text: str) -> Edit | None:
    """Return the edit that writes an annotation, or None if it cannot be written."""
    _, node, owner = source.functions[slot.number]
    if slot.kind == RETURN:
        end = source.ends_of_parameters.get(node.lineno)
        return None if end is None else Edit(end, end, f" -> {text}")
    for arg, _, default in parameters_of(node, owner):
        if arg.arg == slot.name:
            end = source.end(arg)
            if default is None:
                return Edit(end, end, f": {text}")
            sign = _EQUALS.match(source.text, end)
            return None if sign is None else Edit(end, sign.end(), f": {text} = ")
    return None


Run = Callable[[Path, float], list[Diagnostic]]
"""Runs a checker on the project in a folder, within some seconds."""
AddedBy = Callable[[Terms], list[Diagnostic]]
"""Returns the diagnostics that some annotations add."""


class AnnotatedProject:
    """Writes annotations into the files of a project, and lets checkers judge them.

    `minor` is the minor version of the oldest Python 3 that the project supports.
    """

    def __init__(self, original: ProjectIndex, checker: TypeChecker, minor: int) -> None:
        self._original = original
        self._checker = checker
        self._names = ProjectNames(original, minor)
        self._file_names: dict[str, FileNames] = {}
        self._before: tuple[object, list[Diagnostic]] | None = None
        self._last_written: dict[str, tuple[dict[Slot, str], AnnotatedFile]] = {}

    def texts(self, annotations: Mapping[tuple[str, Slot], str]) -> dict[str, str]:
        """Return the texts of all files, with annotations."""
        every = {path: file.source.text for path, file in self._original.files.items()}
        return every | self._changed(annotations)

    def _changed(self, annotations: Mapping[tuple[str, Slot], str]) -> dict[str, str]:
        return {path: file.text for path, file in self._files(annotations).items()}

    def _files(self, annotations: Mapping[tuple[str, Slot], str]) -> dict[str, AnnotatedFile]:
        by_path: dict[str, dict[Slot, str]] = defaultdict(dict)
        for (path, slot), term in annotations.items():
            by_path[path][slot] = term
        return {path: self._annotated_file(path, terms) for path, terms in by_path.items()}

    def _annotated_file(self, path: str, terms: dict[Slot, str]) -> AnnotatedFile:
        last = self._last_written.get(path)
        if last is not None and last[0] == terms:
            return last[1]
        if path not in self._file_names:
            self._file_names[path] = FileNames(self._original.files[path], self._names)
        made = annotated_file(self._original.files[path], self._file_names[path], terms)
        self._last_written[path] = dict(terms), made
        return made

    def writable(self, terms: Terms) -> Terms:
        """Return the annotations whose names the files can refer to."""
        written = {
            (path, slot) for path, file in self._files(terms).items() for slot in file.written
        }
        return {key: term for key, term in terms.items() if key in written}

    def accepted(
        self, terms: Terms, base: Terms, added_by: AddedBy, *, by_function: bool = False
    ) -> Terms:
        """Return the annotations that add no diagnostic anywhere in the project with `base`.

        Annotations whose names the files cannot refer to are left out. `by_function` is that of
        `settle`.
        """
        tried = self.writable(terms)
        return settle(tried, base, self._original, added_by, by_function=by_function)

    def adding(self, run: Run, question: str) -> AddedBy:
        """Return a function that returns the diagnostics of a checker that annotations add."""
        before = self._checker.ask(run, {}, question, list[Diagnostic])

        def added_by(annotations: Terms) -> list[Diagnostic]:
            texts = self._changed(annotations)
            after = self._checker.ask(run, texts, question, list[Diagnostic])
            return self._added(before, after, texts)

        return added_by

    def added_by(self, annotations: Terms) -> list[Diagnostic]:
        """Return the diagnostics of the type checker that annotations add."""
        return self.added_by_texts(self._changed(annotations))

    def added_by_texts(self, texts: Mapping[str, str]) -> list[Diagnostic]:
        """Return the diagnostics that other texts of some files add."""
        after = self._checker.check(texts)
        return self._added(self._diagnostics, after, texts)

    def _added(
        self, before: list[Diagnostic], after: list[Diagnostic], texts: Mapping[str, str]
    ) -> list[Diagnostic]:
        """Return new diagnostics of other texts of files, with the lines of the original files."""
        lines = {
            path: line_map(self._original.files[path].source.text, texts[path])
            for path in {diagnostic.path for diagnostic in after} & texts.keys()
            if path in self._original.files
        }
        moved = [
            diagnostic._replace(line=lines[diagnostic.path].get(diagnostic.line, 0))
            if diagnostic.path in lines
            else diagnostic
            for diagnostic in after
        ]
        return new_diagnostics(before, moved)

    @property
    def _diagnostics(self) -> list[Diagnostic]:
        """The diagnostics without annotations, and without the files that are left out by now."""
        state = self._checker.left_out, self._checker.python
        if self._before is None or self._before[0] != state:
            found = self._checker.check({})
            self._before = (self._checker.left_out, self._checker.python), found
        return self._before[1]
