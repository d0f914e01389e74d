"""Insertion of a test into the source of a test file."""

import ast
import textwrap
from collections.abc import Collection

from remora.code.edit.text_lines import split_lines
from remora.code.pytest_model.test_functions import test_functions
from remora.code.pytest_model.used_names import used_names
from remora.code.syntax.source import parse_text


def with_block(
    text: str, owner: str, base: str, block: str, *, names: Collection[str], indent: str
) -> str:
    """Return the source with a test added at the end, or at the end of the class `owner`.

    The class is created, with the base class `base`, if it does not exist. Methods are indented by
    `indent`. A function is inserted after the last test that uses one of `names`. What is added
    comes before a last `if __name__ == "__main__":`.
    """
    tree = parse_text(text)
    body = tree.body if isinstance(tree, ast.Module) else []
    if not owner:
        return _after_related(text, body, block, names) or _with_definition(text, body, block)
    classes = [part for part in body if isinstance(part, ast.ClassDef) and part.name == owner]
    method = textwrap.indent(block, indent)
    if not classes:
        opening = f"class {owner}({base}):" if base else f"class {owner}:"
        return _with_definition(text, body, f"{opening}\n{method}")
    lines = split_lines(text, keepends=True)
    end = classes[-1].end_lineno or len(lines)
    if not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    return "".join([*lines[:end], "\n", method, *lines[end:]])


def _after_related(text: str, body: list[ast.stmt], block: str, names: Collection[str]) -> str:
    """Return the source with a test after the last one that uses some names, if others follow.

    Return an empty string otherwise.
    """
    definitions = [
        statement for statement in body if isinstance(statement, ast.FunctionDef | ast.ClassDef)
    ]
    related = [test for test in test_functions(body) if used_names(test) & {*names}]
    if not related or related[-1] is definitions[-1]:
        return ""
    lines = split_lines(text, keepends=True)
    end = related[-1].end_lineno or len(lines)
    rest = "".join(lines[end:]).lstrip("\n")
    return "".join(lines[:end]) + f"\n\n{block}\n\n{rest}"


def _with_definition(text: str, body: list[ast.stmt], block: str) -> str:
    last = body[-1] if body else None
    if isinstance(last, ast.If) and "__name__" in ast.unparse(last.test):
        lines = split_lines(text, keepends=True)
        head, tail = "".join(lines[: last.lineno - 1]), "".join(lines[last.lineno - 1 :])
    else:
        head, tail = text, ""
    before = head.rstrip("\n")
    return (f"{before}\n\n\n" if before else "") + block + (f"\n\n{tail}" if tail else "")
