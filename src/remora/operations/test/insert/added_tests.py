"""Insertion of tests into a test file, and detection of the tests that a change adds."""

import ast
from collections.abc import Mapping, Sequence

import msgspec

from remora.code.syntax.source import parse_text
from remora.operations.test.cases.best_cases import names_in
from remora.operations.test.cases.test_source import Draft
from remora.operations.test.insert.test_imports import (
    Imported,
    imported_names,
    top_level_names,
    with_import,
)
from remora.operations.test.test_location import InsertLocation

HYPOTHESIS = "hypothesis"


class UpdatedTestFile(msgspec.Struct, frozen=True, kw_only=True):
    """The new source of a test file, and the names of its new tests."""

    text: str
    names: list[str]


def with_tests(
    before: str, home: InsertLocation, drafts: Sequence[Draft], known: Mapping[str, str], width: int
) -> UpdatedTestFile | str:
    """Return the test file with the drafts added under unused names, or an error.

    `known` maps the names that the tests use to the modules from which they are imported.
    """
    tree = parse_text(before)
    if not isinstance(tree, ast.Module):
        return f"{home.path} does not parse"
    text, bound, names = before, top_level_names(tree), []
    for name in _needed_names(drafts, known):
        one = _import_of(name, known.get(name, ""))
        if one in imported_names(tree):
            continue
        if name in bound:
            return f"{home.path} uses the name {name} for something else"
        text = with_import(text, one, width)
    for draft in drafts:
        name = _free_name(draft.name, bound)
        bound.add(name)
        names.append(name)
        head = text.rstrip("\n")
        text = (f"{head}\n\n\n" if head else "") + _text_of(draft, name, home)
    return UpdatedTestFile(text=text, names=names)


def _needed_names(drafts: Sequence[Draft], known: Mapping[str, str]) -> list[str]:
    """Return the names to import, with project names first, then pytest, and then Hypothesis."""
    lines = [line for draft in drafts for line in draft.body]
    heads = ["\n".join([*draft.decorators, "def test(): ..."]) for draft in drafts]
    read = names_in(lines).union(*(names_in([head]) for head in heads))
    foreign = {name for name, module in known.items() if module == HYPOTHESIS}
    return sorted(
        read & (known.keys() | {"pytest"}),
        key=lambda n: (n in foreign, n == "pytest", n == "st", n),
    )


def _import_of(name: str, module: str) -> Imported:
    if module == HYPOTHESIS and name == "st":
        return Imported(module, "strategies", name)
    return Imported(module or name, name if module else "", name)


def _text_of(draft: Draft, name: str, home: InsertLocation) -> str:
    arrow = " -> None" if home.typed else ""
    head = f"def {name}({draft.parameters}){arrow}:"
    return "\n".join([*draft.decorators, head, *(f"    {line}" for line in draft.body)]) + "\n"


def added_tests(path: str, before: bytes | None, after: bytes | None) -> list[str] | str:
    """Return the names of the added test functions, or an error if there are any other changes."""
    old, new = (parse_text(_decoded(each)) for each in (before or b"", after or b""))
    if not isinstance(old, ast.Module) or not isinstance(new, ast.Module):
        return f"{path} does not parse"
    names = [
        one.name
        for one in new.body
        if isinstance(one, ast.FunctionDef)
        and one.name.startswith("test")
        and one.name not in top_level_names(old)
    ]
    rest = [one for one in new.body if not (isinstance(one, ast.FunctionDef) and one.name in names)]
    if _dumped(rest) != _dumped(old.body):
        return f"{path}: more than tests was changed"
    if not set(imported_names(old)) <= set(imported_names(new)):
        return f"{path}: an import was removed"
    if not _is_within(_lines(before, old), _decoded(after or b"").splitlines()):
        return f"{path}: existing lines were removed"
    return names or f"{path}: there is no new test"


def _decoded(content: bytes) -> str:
    return content.decode("utf-8-sig", "replace")


def _dumped(statements: Sequence[ast.stmt]) -> list[str]:
    kept = (one for one in statements if not isinstance(one, ast.Import | ast.ImportFrom))
    return [ast.dump(one) for one in kept]


def _lines(content: bytes | None, tree: ast.Module) -> list[str]:
    imported = {
        number
        for one in tree.body
        if isinstance(one, ast.Import | ast.ImportFrom)
        for number in range(one.lineno, (one.end_lineno or one.lineno) + 1)
    }
    lines = _decoded(content or b"").splitlines()
    return [line for number, line in enumerate(lines, 1) if number not in imported and line.strip()]


def _is_within(wanted: Sequence[str], lines: Sequence[str]) -> bool:
    """Return True if `lines` contains all of `wanted` in the same order."""
    there = iter(lines)
    return all(line in there for line in wanted)


def _free_name(wanted: str, bound: set[str]) -> str:
    number, name = 1, wanted
    while name in bound:
        number += 1
        name = f"{wanted}_{number}"
    return name


def merge_added_tests(
    path: str, before: bytes | None, after: bytes | None, ours: bytes, width: int
) -> bytes | None:
    """Return `ours` with the tests that another change added, including their imports.

    Return None if the change does more than add tests, or if a name is already in use.
    """
    names = added_tests(path, before, after)
    if isinstance(names, str) or b"\r" in ours:
        return None
    theirs, text = _decoded(after or b""), ours.decode("utf-8", "replace")
    tree, base = parse_text(theirs), parse_text(_decoded(before or b""))
    mine = parse_text(text)
    if not (
        isinstance(tree, ast.Module)
        and isinstance(base, ast.Module)
        and isinstance(mine, ast.Module)
    ):
        return None
    known = set(imported_names(mine))
    for one in [
        each for each in imported_names(tree) if each not in set(imported_names(base)) | known
    ]:
        if one.bound in top_level_names(mine):
            return None
        text = with_import(text, one, width)
    if set(names) & top_level_names(mine):
        return None
    lines = theirs.splitlines()
    blocks = [
        "\n".join(lines[_first_line(one) - 1 : one.end_lineno])
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and one.name in names
    ]
    made = "\n\n\n".join((text.rstrip("\n"), *blocks)) + "\n"
    return made.encode() if isinstance(parse_text(made), ast.Module) else None


def _first_line(test: ast.FunctionDef) -> int:
    return min([test.lineno, *(one.lineno for one in test.decorator_list)])
