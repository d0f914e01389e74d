"""A project with annotations written into its files, and what checkers say about them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.import_edits import Imported, ImportStyle, import_edits
from remora.code.edit.text_lines import newline_of, with_newline
from remora.operations.types.checker.judge import Terms, settle
from remora.operations.types.checker.type_checker import TypeChecker, line_map, new_diagnostics
from remora.operations.types.source.project_index import File, ProjectIndex
from remora.operations.types.source.slots import Slot, annotation_edits
from remora.operations.types.writing.annotation_names import FileNames, Import, ProjectNames
from remora.tools.host.declared_type_checker import Diagnostic
from remora.tools.host.style_config import habitual_width


class AnnotatedFile:
    """The text of a file with annotations, and the lines of the file from which its lines come.

    `written` contains the annotations as source text. Types whose names the file cannot refer to
    are left out.
    """

    def __init__(self, file: File, names: FileNames, terms: Mapping[Slot, str]) -> None:
        self.written: dict[Slot, str] = {}
        imports: set[Import] = set()
        for slot, term in terms.items():
            annotation = names.write(term, file.functions[slot.number])
            if annotation is not None:
                self.written[slot] = annotation.text
                imports |= annotation.imports
        edits = annotation_edits(file.source, self.written) + _import_edits(file, imports)
        newline = newline_of(file.source.text)
        edits = [each._replace(text=with_newline(each.text, newline)) for each in edits]
        self.text = apply_edits(file.source.text, edits)
        added = [edit for edit in edits if "\n" in edit.text]
        self._added = sorted(
            (file.source.place(edit.start)[0], edit.text.count("\n")) for edit in added
        )

    def original_line(self, line: int) -> int:
        """Return the line of the original file for a line of the text."""
        shift = 0
        for start, count in self._added:
            if line >= start + shift + count:
                shift += count
            elif line >= start + shift:
                return start
            else:
                break
        return line - shift


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
        self._before: tuple[frozenset[str], list[Diagnostic]] | None = None
        self._last_written: dict[str, tuple[dict[Slot, str], AnnotatedFile]] = {}

    def forget(self) -> None:
        """Forget what the type checker said, because it knows more now."""
        self._before = None

    def texts(self, annotations: Mapping[tuple[str, Slot], str]) -> dict[str, str]:
        """Return the texts of all files, with annotations."""
        changed = {path: each.text for path, each in self.annotated(annotations).items()}
        every = {path: file.source.text for path, file in self._original.files.items()}
        return every | changed

    def annotated(self, annotations: Mapping[tuple[str, Slot], str]) -> dict[str, AnnotatedFile]:
        """Return the files that have annotations."""
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
        made = AnnotatedFile(self._original.files[path], self._file_names[path], terms)
        self._last_written[path] = dict(terms), made
        return made

    def writable(self, terms: Terms) -> Terms:
        """Return the annotations whose names the files can refer to."""
        written = {
            (path, slot) for path, each in self.annotated(terms).items() for slot in each.written
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
        before = self._checker.check_with(run, {}, question)

        def added_by(annotations: Terms) -> list[Diagnostic]:
            files = self.annotated(annotations)
            texts = {path: each.text for path, each in files.items()}
            return new_diagnostics(
                before, _moved(files, self._checker.check_with(run, texts, question))
            )

        return added_by

    def added_by(self, annotations: Terms) -> list[Diagnostic]:
        """Return the diagnostics of the type checker that annotations add."""
        files = self.annotated(annotations)
        after = self._checker.check({path: each.text for path, each in files.items()}).diagnostics
        return new_diagnostics(self._diagnostics, _moved(files, after))

    def added_by_texts(self, texts: Mapping[str, str]) -> list[Diagnostic]:
        """Return the diagnostics that other texts of some files add."""
        after = self._checker.check(texts).diagnostics
        lines = {
            path: line_map(self._original.files[path].source.text, text)
            for path, text in texts.items()
            if path in self._original.files
        }
        moved = [
            each._replace(line=lines[each.path].get(each.line, 0)) if each.path in lines else each
            for each in after
        ]
        return new_diagnostics(self._diagnostics, moved)

    @property
    def _diagnostics(self) -> list[Diagnostic]:
        """The diagnostics without annotations, and without the files that are left out by now."""
        if self._before is None or self._before[0] != self._checker.left_out:
            found = self._checker.check({}).diagnostics
            self._before = self._checker.left_out, found
        return self._before[1]


def _moved(files: Mapping[str, AnnotatedFile], found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics of annotated files with the lines of the original files."""
    return [
        each._replace(line=files[each.path].original_line(each.line))
        if each.path in files
        else each
        for each in found
    ]


def _import_edits(file: File, needed: Iterable[Import]) -> list[Edit]:
    wanted = [each for each in needed if each.name not in file.imports]
    found = {
        is_lazy: [
            Imported(each.module, each.name, each.name) for each in wanted if each.lazy == is_lazy
        ]
        for is_lazy in (False, True)
    }
    style = ImportStyle(width=habitual_width(file.source.text))
    return import_edits(file.source, found[False], style, found[True])
