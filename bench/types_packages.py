"""Well-typed packages for the types operation: which ones, and copies without annotations."""

import ast
import contextlib
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from remora.code.edit.edits import Edit, apply_edits
from remora.judges.types.slots import SourceText, written_annotations
from remora.judges.types.terms import canonical
from remora.operations.types.hidden_annotations import hide_annotations, read_annotations

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "remora-bench" / "types"
EVALUATION = [
    "wsproto",
    "bidict",
    "cssselect",
    "parsel",
    "apispec",
    "python-dotenv",
    "prettytable",
    "tinydb",
    "itemadapter",
]
"""Packages on which the operation is measured. Their annotations led to no rule and no threshold."""

FIELDS = re.compile("dataclass|attr|define|frozen|NamedTuple|TypedDict|Protocol|Model|Struct")
"""Classes whose annotations are fields."""
Key = tuple[str, int, str]
"""Path of a file, number of a function in it, and name of a parameter or `return`."""


def package_texts(name: str) -> dict[str, str]:
    """Return the Python files of a package's newest wheel: in UTF-8, and without its tests."""
    folder = CACHE / name
    if not folder.is_dir():
        folder.mkdir(parents=True)
        words = [
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--dest",
            str(folder),
        ]
        subprocess.run([sys.executable, "-m", "pip", *words, name], check=True)
        for wheel in folder.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder)
    texts = {}
    for path in sorted(folder.rglob("*.py")):
        relative = path.relative_to(folder).as_posix()
        if not any(part in relative for part in ("/tests/", "/_tests/", "/_vendor/", "/vendor/")):
            with contextlib.suppress(UnicodeDecodeError):
                texts[relative] = path.read_text(encoding="utf-8")
    return texts


def true_types(texts: dict[str, str]) -> dict[Key, str]:
    """Return the canonical types that a package's functions are annotated with.

    Overloads are left out.
    """
    return {
        (path, number, name): canonical(ast.unparse(annotation))
        for path, text in texts.items()
        for (number, name), annotation in written_annotations(SourceText(text)).items()
    }


def stripped(texts: dict[str, str], removes: Callable[[Key], bool]) -> dict[str, str]:
    """Return the files without some annotations of functions, and without what only these need.

    If no annotation of a file's functions is left, those of attributes are removed, too, except
    fields of dataclasses and the like.
    """
    texts = {path: _without_attributes(path, text, removes) for path, text in texts.items()}
    slots = [
        slot
        for slot in read_annotations(texts)
        if removes((slot.path, slot.number, slot.part.removeprefix("parameter ")))
    ]
    return hide_annotations(texts, slots)


def _without_attributes(path: str, text: str, removes: Callable[[Key], bool]) -> str:
    source = SourceText(text)
    places = written_annotations(source)
    if not places or not all(removes((path, *place)) for place in places):
        return text
    every = [node for _, function, _ in source.functions for node in ast.walk(function)]
    found = [node for node in every if isinstance(node, ast.AnnAssign) and not node.simple]
    for owner in ast.walk(source.tree):
        if isinstance(owner, ast.ClassDef):
            head = map(ast.unparse, [*owner.decorator_list, *owner.bases, *owner.keywords])
            if not FIELDS.search(" ".join(head)):
                found += [node for node in owner.body if isinstance(node, ast.AnnAssign)]
    return apply_edits(text, [_attribute_edit(source, node) for node in found])


def _attribute_edit(source: SourceText, node: ast.AnnAssign) -> Edit:
    if node.value is None:
        return Edit(source.start(node), source.end(node), "pass")
    equals = source.text.index("=", source.end(node.annotation))
    return Edit(source.end(node.target), equals, " ")
