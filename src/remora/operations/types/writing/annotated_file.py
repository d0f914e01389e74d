"""A file with annotations written into it."""

from collections.abc import Iterable, Mapping

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.imports import Imported, ImportStyle, import_edits
from remora.code.edit.text_lines import newline_of, with_newline
from remora.operations.types.source.project_index import File
from remora.operations.types.source.slots import AnnotationEdits, Slot
from remora.operations.types.writing.annotation_names import FileNames, Import
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
        edits = AnnotationEdits(file.source).edits(self.written) + _import_edits(file, imports)
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
