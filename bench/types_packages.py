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

from remora.operations.parsed_text import Edit, apply_edits
from remora.operations.types.source.slots import (
    RETURN,
    SourceText,
    functions_of,
    is_overload,
    parameters_of,
)
from remora.operations.types.source.terms import canonical

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "remora-bench" / "types"
TRAINING = [
    "structlog",
    "flask",
    "httpx",
    "isort",
    "arrow",
    "requests",
    "tomlkit",
    "pendulum",
    "starlette",
    "click",
    "typer",
    "jinja2",
    "black",
    "werkzeug",
    "rich",
    "attrs",
    "fastapi",
    "aiohttp",
]
"""Packages for the name priors and the weights. None of them is used for evaluation."""
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

_FIELDS = re.compile("dataclass|attr|define|frozen|NamedTuple|TypedDict|Protocol|Model|Struct")
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
    found = {}
    for path, text in texts.items():
        for number, (_, node, owner) in enumerate(functions_of(ast.parse(text))):
            if is_overload(node):
                continue
            every = [(arg.arg, arg.annotation) for arg, _, _ in parameters_of(node, owner)]
            for name, annotation in [*every, (RETURN, node.returns)]:
                if annotation is not None:
                    found[path, number, name] = canonical(ast.unparse(annotation))
    return found


def stripped(texts: dict[str, str], removes: Callable[[Key], bool]) -> dict[str, str]:
    """Return the files without some annotations of functions, and without unused imports.

    If all annotations of a file are removed, those of attributes are removed, too, except fields of
    dataclasses and the like.
    """
    return {path: _stripped(path, text, removes) for path, text in texts.items()}


def _stripped(path: str, text: str, removes: Callable[[Key], bool]) -> str:
    source = SourceText(text)
    edits: list[Edit] = []
    kept = False
    for number, (_, node, owner) in enumerate(functions_of(source.tree)):
        for arg, _, default in parameters_of(node, owner):
            if arg.annotation is None:
                continue
            if removes((path, number, arg.arg)):
                edits.append(_without_parameter(source, arg, has_default=default is not None))
            else:
                kept = True
        if node.returns is not None and removes((path, number, RETURN)):
            edits.append(_without_result(source, node.returns))
        kept = kept or (node.returns is not None and not removes((path, number, RETURN)))
    if not kept:
        edits += _attribute_edits(source)
    return _without_unused_imports(path, apply_edits(text, edits)) if edits else text


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
    end = source.end(returns)
    colon = source.text.index(":", end)
    before = source.text[:start].rstrip().removesuffix("\\")
    return Edit(len(before.rstrip()), colon, "")


def _attribute_edits(source: SourceText) -> list[Edit]:
    edits = []
    for _, function, _ in functions_of(source.tree):
        assigned = [node for node in ast.walk(function) if isinstance(node, ast.AnnAssign)]
        edits += [_without_attribute(source, node) for node in assigned if not node.simple]
    for owner in ast.walk(source.tree):
        if isinstance(owner, ast.ClassDef) and not _FIELDS.search(_head(owner)):
            fields = [node for node in owner.body if isinstance(node, ast.AnnAssign)]
            edits += [_without_attribute(source, node) for node in fields]
    return list(dict.fromkeys(edits))


def _head(owner: ast.ClassDef) -> str:
    return " ".join(map(ast.unparse, [*owner.decorator_list, *owner.bases, *owner.keywords]))


def _without_attribute(source: SourceText, node: ast.AnnAssign) -> Edit:
    if node.value is None:
        return Edit(source.start(node), source.end(node), "pass")
    return Edit(source.end(node.target), source.start(node.value), " = ")


def _without_unused_imports(path: str, text: str) -> str:
    if path.endswith("__init__.py"):
        return text
    words = ["check", "--isolated", "--select", "F401", "--fix-only", "--quiet", "--exit-zero", "-"]
    ruff = Path(sys.executable).with_name("ruff")
    done = subprocess.run([ruff, *words], input=text.encode(), capture_output=True, check=True)
    return done.stdout.decode()
