"""Checks that a change only adds annotations, and that a type checker accepts them."""

import ast
import builtins
from collections.abc import Mapping, Sequence
from symtable import symtable

from remora.code.edit.comments import comments_in
from remora.code.edit.import_edits import is_type_checking
from remora.code.edit.text_lines import decode
from remora.code.syntax.definitions import FunctionNode, ImportNode
from remora.errors import HostError
from remora.judges.submission import Submission
from remora.judges.types.slots import annotations_of, functions_of
from remora.operations.types.session import project_texts, session_for
from remora.python_text import parse, without_warnings
from remora.tools.tree import ToolTree

_Import = tuple[int, str, str, str]
"""The number of other statements before an import, its module, its name, and the bound name.

The number is -1 for an import for type checkers only.
"""


def annotations_only(submission: Submission) -> str:
    """Check that the files differ only in added annotations and imports, and in their layout."""
    for path, (before, after) in submission.files.items():
        if path != submission.path or before is None or after is None:
            return f"{path}: not the file of {submission.node_name}"
        try:
            problem = _difference(before, after)
        except (SyntaxError, ValueError) as error:
            problem = f"does not parse: {error}"
        if problem:
            return f"{path}: {problem}"
    return ""


def annotations_added(submission: Submission) -> str:
    """Check that annotations were added."""
    before, after = submission.files.get(submission.path, (None, None))
    if before is None or after is None:
        return f"{submission.path} was not changed"
    added = len(_annotations(parse(after))) - len(_annotations(parse(before)))
    return "" if added > 0 else "no annotation was added"


def no_new_diagnostics(submission: Submission) -> str:
    """Check that the type checker reports nothing in the project that it did not report before."""
    if submission.in_tree is None:
        return "the type checker needs the project's files"
    try:
        return submission.in_tree(lambda place: _new_diagnostic(place, submission.files))
    except HostError as error:
        return error.message


def _new_diagnostic(place: ToolTree, files: Mapping[str, tuple[bytes | None, bytes | None]]) -> str:
    texts = project_texts(place)
    changed = {path: texts[path] for path in files if path in texts}
    for path, (before, _) in files.items():
        texts.pop(path, None)
        if before is not None:
            texts[path] = decode(path, before).body
    found = session_for(place, texts).new_diagnostics(changed, place.left)
    if not found:
        return ""
    first = found[0]
    return f"{first.path}:{first.line}: new diagnostic {first.rule}: {first.message}"


def _difference(before: bytes, after: bytes) -> str:
    trees = parse(before), parse(after)
    kept, found = map(_annotations, trees)
    if any(found.get(key) != text for key, text in kept.items()):
        return "an annotation that was there has changed"
    imports, now = set[_Import](), set[_Import]()
    is_same = _bare(trees[0], imports) == _bare(trees[1], now)
    if not imports <= now:
        return "an import has changed"
    if not _bound(before).isdisjoint(bound for *_, bound in now - imports):
        return "a new import hides a name"
    if not is_same:
        return "more than annotations and imports changed"
    texts = (decode("", content).body for content in (before, after))
    return "a comment changed" if len({tuple(comments_in(text)) for text in texts}) > 1 else ""


def _annotations(tree: ast.Module) -> dict[tuple[int, str], str]:
    return {
        (number, name): ast.dump(annotation)
        for number, (_, node, owner) in enumerate(functions_of(tree))
        for name, annotation in annotations_of(node, owner).items()
    }


def _bound(content: bytes) -> set[str]:
    """Return the names that a module binds, and built-in ones. A star may bind them again."""
    with without_warnings():
        names = symtable(content.decode("utf-8-sig"), "", "exec").get_symbols()
    bound = {name.get_name() for name in names if name.is_assigned() or name.is_imported()}
    return bound | {*dir(builtins), "*"}


def _bare(tree: ast.Module, imports: set[_Import]) -> str:
    """Return the tree, from which annotations and imports are removed, and collect the latter."""
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    tree.body = _without_imports(tree.body, imports)
    return ast.dump(tree)


def _without_imports(
    body: Sequence[ast.stmt], imports: set[_Import], *, is_lazy: bool = False
) -> list[ast.stmt]:
    """Return the statements of a module but for imports, also those for type checkers only."""
    rest: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ImportNode):
            module = f"{'.' * node.level}{node.module}" if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                imports.add((-1 if is_lazy else len(rest), module, alias.name, bound))
            continue
        if isinstance(node, ast.If) and is_type_checking(node.test):
            inside = _without_imports(node.body, imports, is_lazy=True)
            node.body = [inner for inner in inside if not isinstance(inner, ast.Pass)]
            if not node.body and not node.orelse:
                continue
        rest.append(node)
    return rest
