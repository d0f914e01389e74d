"""Precision and recall of the contradictions that the docstring operation finds.

Usage: python bench/docstring_drift.py FOLDER...

Each folder is a package. Errors are planted in documented functions, one at a time: a parameter is
renamed or dropped, or a raised exception is changed. A new finding is right if it is about the
planted error. The findings in the unchanged packages are printed first, to be read.
"""

import ast
import builtins
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from remora.code.docstrings.documented_node import DocumentedNode, find_documented
from remora.code.docstrings.related_texts import RelatedTexts
from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.errors import HostError
from remora.operations.docstring.host_docstring import (
    exception_classes,
    folder_texts,
    related_texts,
)
from remora.tools.tree import ToolTree

SAMPLES = 40
_NEW_NAMES = ("source", "handle", "amount", "target", "entry")
_EXCEPTIONS = ("ValueError", "TypeError", "KeyError", "RuntimeError", "OSError")
_MENTIONS = {
    "a raised exception is changed": re.compile(r"raise|exc", re.IGNORECASE),
}
"""What a docstring mentions if an error can be planted, to save time."""

Planted = tuple[ast.Module, set[str]]
"""The changed tree, and the names that a right finding is about."""


class Place(NamedTuple):
    root: Path
    path: str
    content: bytes
    qualname: str
    related: RelatedTexts

    def node(self, content: bytes) -> DocumentedNode:
        return find_documented(self.path, content, self.qualname, self.related)


def places(root: Path) -> Iterator[Place]:
    """Yield the functions and classes of a package that have a docstring."""
    tree = ToolTree(root)
    classes, texts_of = exception_classes(tree), partial(folder_texts, tree)
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root).as_posix()
        content = file.read_bytes()
        try:
            module = parse_module(path, content)
            related = related_texts(path, content, texts_of, classes)
        except (HostError, RecursionError):
            continue
        if isinstance(module, Module):
            for node in module.nodes:
                if node.docstring is not None and node.node_type != "module":
                    yield Place(root, path, content, node.qualname, related)


def find(tree: ast.Module, wanted: ast.AST) -> Any:
    return next(
        each
        for each in ast.walk(tree)
        if isinstance(each, type(wanted)) and each.lineno == wanted.lineno  # type: ignore[attr-defined]
    )


def documented(found: DocumentedNode, kind: str) -> dict[str, str]:
    """Return the names in the sections of a kind, with the text of their entries."""
    if found.code is None:
        return {}
    parsed = found.code.parsed
    return {
        name: "\n".join(parsed.lines[item.first : item.last + 1])
        for section in parsed.sections
        if section.kind == kind
        for item in section.items
        for name in item.names
    }


def arguments(node: ast.FunctionDef) -> list[ast.arg]:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [each for each in every if each.arg not in ("self", "cls")]


def rename_parameter(
    found: DocumentedNode, tree: ast.Module, draw: random.Random
) -> Planted | None:
    node = find(tree, found.node)
    entries = documented(found, "parameters")
    known = [each for each in arguments(node) if each.arg in entries]
    if not known:
        return None
    chosen = draw.choice(known)
    old, new = chosen.arg, draw.choice([f"{chosen.arg}_value", draw.choice(_NEW_NAMES)])
    if new in {each.arg for each in arguments(node)}:
        return None
    chosen.arg = new
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id == old:
            each.id = new
    return tree, {old, new}


def drop_parameter(found: DocumentedNode, tree: ast.Module, draw: random.Random) -> Planted | None:
    node = find(tree, found.node)
    entries = documented(found, "parameters")
    known = [each for each in node.args.args if each.arg in entries]
    if not known:
        return None
    chosen = draw.choice(known)
    index = node.args.args.index(chosen) - (len(node.args.args) - len(node.args.defaults))
    node.args.args.remove(chosen)
    if index >= 0:
        del node.args.defaults[index]
    for each in ast.walk(node):
        for field, value in ast.iter_fields(each):
            if isinstance(value, ast.Name) and value.id == chosen.arg:
                setattr(each, field, ast.Constant(None))
    return tree, {chosen.arg, ""}  # the result may be None now


def change_exception(
    found: DocumentedNode, tree: ast.Module, draw: random.Random
) -> Planted | None:
    node = find(tree, found.node)
    entries = documented(found, "raises")
    raised = [
        each
        for each in ast.walk(node)
        if isinstance(each, ast.Raise)
        and isinstance(each.exc, ast.Call)
        and isinstance(each.exc.func, ast.Name)
        and each.exc.func.id in entries
    ]
    if not raised:
        return None
    old = draw.choice(raised).exc.func.id  # type: ignore[union-attr]
    kind = getattr(builtins, old, Exception)
    others = [
        name
        for name in _EXCEPTIONS
        if name not in entries
        and not issubclass(getattr(builtins, name), kind)
        and not issubclass(kind, getattr(builtins, name))
    ] or ["RuntimeError"]
    new = draw.choice(others)
    for each in raised:
        if each.exc.func.id == old:  # type: ignore[union-attr]
            each.exc.func.id = new  # type: ignore[union-attr]
    return tree, {old, new}


PLANTS: dict[str, Callable[[DocumentedNode, ast.Module, random.Random], Planted | None]] = {
    "a parameter is renamed": rename_parameter,
    "a parameter is dropped": drop_parameter,
    "a raised exception is changed": change_exception,
}


def main() -> None:
    draw = random.Random(13)
    every = [each for folder in sys.argv[1:] for each in places(Path(folder).resolve())]
    print(f"{len(every)} docstrings")
    for place in every:
        found = place.node(place.content)
        for each in found.contradictions:
            line = found.line_of(each.line)
            print(f"as is: {place.root.name}/{place.path}:{line}: {each.code}: {each.message}")
    functions = [e for e in every if isinstance(e.node(e.content).node, ast.FunctionDef)]
    print("\n| planted | functions | found | new findings | right | precision | recall |")
    print("|---|---|---|---|---|---|---|")
    totals: Counter[str] = Counter()
    for name, plant in PLANTS.items():
        draw.shuffle(functions)
        counts = _measure(functions, plant, draw, name)
        totals += counts
        print(_row(name, counts))
    print(_row("all", totals))


def _row(name: str, counts: Counter[str]) -> str:
    new, right, planted = counts["new"], counts["right"], counts["planted"]
    precision = f"{right / new:.3f}" if new else "-"
    return (
        f"| {name} | {planted} | {counts['found']} | {new} | {right} | {precision} "
        f"| {counts['found'] / max(1, planted):.2f} |"
    )


def _measure(functions: list[Place], plant: Any, draw: random.Random, name: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    mention = _MENTIONS.get(name, re.compile(""))
    for place in functions:
        if counts["planted"] == SAMPLES:
            break
        found = place.node(place.content)
        if mention.search(found.text or ""):
            planted = plant(found, ast.parse(place.content), draw)
            counts += _compare(place, planted, name) if planted is not None else Counter()
    return counts


def _compare(place: Place, planted: Planted, name: str) -> Counter[str]:
    try:
        before = place.node(ast.unparse(ast.parse(place.content)).encode())
        after = place.node(ast.unparse(planted[0]).encode())
    except (HostError, RecursionError):
        return Counter()
    known = {each for old in before.contradictions for each in (old.name, old.new) if each}
    new = [each for each in after.contradictions if each.name not in known]
    right = [each for each in new if each.name in planted[1]]
    for each in new:
        if each not in right:
            print(f"wrong: {name}: {place.path} {place.qualname}: {each.message}")
    if not right:
        print(f"not found: {name}: {place.root.name}/{place.path} {place.qualname}: {planted[1]}")
    return Counter(planted=1, new=len(new), right=len(right), found=int(bool(right)))


if __name__ == "__main__":
    main()
