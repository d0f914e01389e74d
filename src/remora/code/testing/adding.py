"""A test put into a test file, and what a change of one adds."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from remora.code.source import parse_text
from remora.code.testing.cases import names_in
from remora.code.testing.placing import Home


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file, and the name of the test in it."""

    text: str
    name: str


class _Imported(NamedTuple):
    module: str
    name: str
    bound: str


def with_test(
    before: str, home: Home, wanted: str, body: Sequence[str], known: Mapping[str, str], width: int
) -> Written | str:
    """The file with one more test that is called `wanted`, or nearly so; or why there is none.

    `known` says for names that the body reads which module they are imported from.
    """
    tree = parse_text(before)
    if not isinstance(tree, ast.Module):
        return f"{home.path} does not parse"
    text, bound = before, _bound(tree)
    for name in sorted(names_in(body) & (known.keys() | {"pytest"}), key=lambda n: n == "pytest"):
        module = known.get(name, "")
        if _Imported(module or name, name if module else "", name) in _imports(tree):
            continue
        if name in bound:
            return f"{home.path} calls something else {name}"
        text = _with_import(text, module, name, width)
    name = _free(wanted, bound)
    arrow = " -> None" if home.typed else ""
    lines = [f"def {name}(){arrow}:", *(f"    {line}" for line in body)]
    head = text.rstrip("\n")
    return Written(text=(f"{head}\n\n\n" if head else "") + "\n".join(lines) + "\n", name=name)


def added_tests(path: str, before: bytes | None, after: bytes | None) -> list[str] | str:
    """Names of the test functions that were added, or what else was done to the file."""
    old, new = (parse_text(_decoded(each)) for each in (before or b"", after or b""))
    if not isinstance(old, ast.Module) or not isinstance(new, ast.Module):
        return f"{path} does not parse"
    names = [
        one.name
        for one in new.body
        if isinstance(one, ast.FunctionDef)
        and one.name.startswith("test")
        and one.name not in _bound(old)
    ]
    rest = [one for one in new.body if not (isinstance(one, ast.FunctionDef) and one.name in names)]
    if _dumped(rest) != _dumped(old.body):
        return f"{path}: more than tests was changed"
    if not set(_imports(old)) <= set(_imports(new)):
        return f"{path}: an import was taken away"
    if not _is_within(_lines(before, old), _decoded(after or b"").splitlines()):
        return f"{path}: lines that were there are not there any more"
    return names or f"{path}: there is no new test"


def _decoded(content: bytes) -> str:
    return content.decode("utf-8-sig", "replace")


def _dumped(statements: Sequence[ast.stmt]) -> list[str]:
    kept = (one for one in statements if not isinstance(one, ast.Import | ast.ImportFrom))
    return [ast.dump(one) for one in kept]


def _lines(content: bytes | None, tree: ast.Module) -> list[str]:
    """Without imports and blank ones."""
    imported = {
        number
        for one in tree.body
        if isinstance(one, ast.Import | ast.ImportFrom)
        for number in range(one.lineno, (one.end_lineno or one.lineno) + 1)
    }
    lines = _decoded(content or b"").splitlines()
    return [line for number, line in enumerate(lines, 1) if number not in imported and line.strip()]


def _is_within(wanted: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether all are there, in order."""
    there = iter(lines)
    return all(line in there for line in wanted)


def _imports(tree: ast.Module) -> Iterator[_Imported]:
    for one in tree.body:
        if isinstance(one, ast.ImportFrom):
            module = "." * one.level + (one.module or "")
            for alias in one.names:
                yield _Imported(module, alias.name, alias.asname or alias.name)
        elif isinstance(one, ast.Import):
            for alias in one.names:
                yield _Imported(alias.name, "", alias.asname or alias.name)


def _bound(tree: ast.Module) -> set[str]:
    """Names of the file's own, at its top."""
    found = {one.bound.partition(".")[0] for one in _imports(tree)}
    for one in tree.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(one.name)
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            found |= {part.id for part in ast.walk(one) if isinstance(part, ast.Name)}
    return found


def _free(wanted: str, bound: set[str]) -> str:
    number, name = 1, wanted
    while name in bound:
        number += 1
        name = f"{wanted}_{number}"
    return name


def _with_import(text: str, module: str, name: str, width: int) -> str:
    """One more import: in the line that imports from there, else at the end of the imports; a
    plain one before those that name a module to import from."""
    tree = parse_text(text)
    assert isinstance(tree, ast.Module)
    lines = text.splitlines()
    found = [one for one in _head(tree) if isinstance(one, ast.Import | ast.ImportFrom)]
    for one in found:
        same = isinstance(one, ast.ImportFrom) and "." * one.level + (one.module or "") == module
        if same and one.lineno == one.end_lineno and "#" not in lines[one.lineno - 1]:
            names = sorted({*(_alias(each) for each in one.names), name}, key=_order)
            line = f"from {module} import {', '.join(names)}"
            if len(line) <= width and "*" not in line and "(" not in lines[one.lineno - 1]:
                lines[one.lineno - 1] = line
                return "\n".join(lines) + "\n"
    new = f"from {module} import {name}" if module else f"import {name}"
    plain = [one for one in found if isinstance(one, ast.Import)]
    if not module and found and not plain:
        future = [o for o in found if isinstance(o, ast.ImportFrom) and o.module == "__future__"]
        at = future[-1].end_lineno or 0 if future else found[0].lineno - 1
        lines[at:at] = ["", new] if future else [new, ""]
    elif found:
        after = _before_it(found, new) if module else None
        at = (after or (found if module else plain)[-1]).end_lineno or 0
        if (
            after is None
            and module
            and isinstance(found[-1], ast.ImportFrom)
            and _text(found[-1]) > new
        ):
            at = found[-1].lineno - 1
        lines[at:at] = ["", new] if module and len(plain) == len(found) else [new]
    else:
        said = tree.body[:1] if ast.get_docstring(tree) is not None else []
        at = said[0].end_lineno or 0 if said else 0
        lines[at:at] = ["", new] if at else [new]
    return "\n".join(lines) + "\n"


def _before_it(found: Sequence[ast.stmt], new: str) -> ast.stmt | None:
    """The last import of the file's last block that sorts before this one."""
    return next(
        (o for o in reversed(found) if isinstance(o, ast.ImportFrom) and _text(o) < new), None
    )


def _text(one: ast.stmt) -> str:
    return ast.unparse(one)


def _head(tree: ast.Module) -> Iterator[ast.stmt]:
    """What stands before the first definition."""
    for one in tree.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        yield one


def _alias(each: ast.alias) -> str:
    return f"{each.name} as {each.asname}" if each.asname else each.name


def _order(name: str) -> tuple[int, str]:
    """Constants, classes, the rest: as import sorters do."""
    rank = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return rank, name


def joined(
    path: str, before: bytes | None, after: bytes | None, ours: bytes, width: int = 88
) -> bytes | None:
    """Another state of a test file with the tests that a change adds to it, and what they import.

    Two tests at the end of a file are no conflict, as two edits of one line are. None where the change
    does more, or a name is taken.
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
    known = set(_imports(mine))
    for one in [each for each in _imports(tree) if each not in set(_imports(base)) | known]:
        if one.bound in _bound(mine) or one.bound != (one.name or one.module):
            return None
        text = _with_import(text, one.module if one.name else "", one.bound, width)
    if set(names) & _bound(mine):
        return None
    lines = theirs.splitlines()
    blocks = [
        "\n".join(lines[one.lineno - 1 : one.end_lineno])
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and one.name in names
    ]
    made = "\n\n\n".join((text.rstrip("\n"), *blocks)) + "\n"
    return made.encode() if isinstance(parse_text(made), ast.Module) else None
