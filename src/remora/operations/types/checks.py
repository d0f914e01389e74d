"""Checks that a change only adds annotations, and that a type checker accepts them."""

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping, Sequence

from remora.code.edit.import_edits import is_type_checking
from remora.code.edit.text_lines import decode
from remora.code.syntax.definitions import FunctionNode, ImportNode
from remora.errors import HostError
from remora.operations.submission import Submission
from remora.operations.types.session import project_texts, session_for
from remora.operations.types.source.slots import annotations_of, functions_of
from remora.python_text import parse
from remora.tools.tree import ToolTree


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
    names = [set(_imported(tree)) for tree in trees]
    if not names[0] <= names[1]:
        return "an import has changed"
    if _bare(trees[0]) != _bare(trees[1]):
        return "more than annotations and imports changed"
    return "" if _comments(before) == _comments(after) else "a comment changed"


def _annotations(tree: ast.Module) -> dict[tuple[int, str], str]:
    return {
        (number, name): ast.dump(annotation)
        for number, (_, node, owner) in enumerate(functions_of(tree))
        for name, annotation in annotations_of(node, owner).items()
    }


def _imported(tree: ast.Module) -> list[tuple[str, str, str | None]]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ImportNode):
            module = f"{'.' * node.level}{node.module}" if isinstance(node, ast.ImportFrom) else ""
            found += [(module, alias.name, alias.asname) for alias in node.names]
    return found


def _bare(tree: ast.Module) -> str:
    """Return the tree without annotations of functions and imports. The tree is changed."""
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    tree.body = [*_without_imports(tree.body)]
    return ast.dump(tree)


def _without_imports(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module but for imports, also those for type checkers only."""
    for statement in body:
        if isinstance(statement, ImportNode):
            continue
        if isinstance(statement, ast.If) and is_type_checking(statement.test):
            rest = [*_without_imports(statement.body)]
            statement.body = [inner for inner in rest if not isinstance(inner, ast.Pass)]
            if not statement.body and not statement.orelse:
                continue
        yield statement


def _comments(content: bytes) -> list[str]:
    tokens = tokenize.tokenize(io.BytesIO(content).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]
