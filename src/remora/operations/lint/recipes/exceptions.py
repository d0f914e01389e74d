"""Names the causes of exceptions that are raised in handlers."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from remora.code.edit.edits import Edit
from remora.code.edit.parsed_text import ParsedText
from remora.code.syntax.definitions import DefinitionNode, FunctionNode
from remora.operations.lint.recipes.apply import Proposal, keeping
from remora.tools.host.ruff.finding import Finding

MISSING = "B904"
"""The rule that asks for a cause."""
_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
_NAMES = ("err", "error", "exc", "e", "ex", "exception")


def chained(source: ParsedText, findings: Sequence[Finding]) -> list[Proposal]:
    """B904: raise from the exception that is being handled, or `from None` if the file does.

    With a cause, tracebacks keep showing both exceptions, and only the text between them changes.
    What people choose is a habit of the project: the other choices in the same file and package
    tell it in 84 % of cases, and `from` with a name alone in 75 %.
    """
    missing = [finding for finding in findings if finding["code"] == MISSING]
    found = {(finding["line"], finding["column"]): finding for finding in missing}
    hides_causes = bool(found) and _hides_causes(source.tree)
    proposals = [
        Proposal(finding, edits)
        for raised, handler in (raises_in_handlers(source.tree) if found else ())
        if (finding := found.get(source.place(source.start(raised))))
        and raised.cause is None
        and _is_new(raised.exc)
        and (edits := _edits(source, raised, handler, hides_causes=hides_causes))
    ]
    return keeping(source.text, proposals, _forget_causes)


def raises_in_handlers(tree: ast.Module) -> Iterator[tuple[ast.Raise, ast.ExceptHandler]]:
    """Yield the `raise` statements in handlers that need a cause, with the innermost handler.

    Like ruff, this leaves out variables, such as `raise error`.
    """
    for node, handler in _in_block(tree.body, None):
        if node.exc is not None and not (isinstance(node.exc, ast.Name) and node.exc.id.islower()):
            yield node, handler


def _in_block(
    body: Iterable[ast.AST], handler: ast.ExceptHandler | None
) -> Iterator[tuple[ast.Raise, ast.ExceptHandler]]:
    for node in body:
        if isinstance(node, ast.Raise) and handler is not None:
            yield node, handler
        around = None if isinstance(node, DefinitionNode) else handler
        if isinstance(node, ast.ExceptHandler):
            around = node
        inner = (block for block in ast.iter_child_nodes(node) if isinstance(block, _BLOCKS))
        yield from _in_block(inner, around)


def _edits(
    source: ParsedText, raised: ast.Raise, handler: ast.ExceptHandler, *, hides_causes: bool
) -> tuple[Edit, ...]:
    end = source.end(raised)
    if hides_causes:
        return (Edit(end, end, " from None"), *_unused_name(source, handler))
    if handler.name:
        return () if _is_rebound(handler) else (Edit(end, end, f" from {handler.name}"),)
    name = _new_name(source.tree, raised, handler)
    if name is None or handler.type is None:
        return ()
    named = source.end(handler.type)
    shut = source.text.find(":", named)
    if source.text[named:shut].strip() not in ("", ")"):
        return ()
    return (Edit(shut, shut, f" as {name}"), Edit(end, end, f" from {name}"))


def _unused_name(source: ParsedText, handler: ast.ExceptHandler) -> tuple[Edit, ...]:
    """Return the edit that removes the name of an exception that its handler does not use."""
    inner = [node for statement in handler.body for node in ast.walk(statement)]
    if not handler.name or any(handler.name in _names_of(node) for node in inner):
        return ()
    assert handler.type is not None  # only an exception with a type has a name
    pattern = re.compile(rf"\s+as\s+{handler.name}\b")
    found = pattern.search(source.text, source.end(handler.type))
    assert found is not None
    return (Edit(found.start(), found.end(), ""),)


def _hides_causes(tree: ast.Module) -> bool:
    """Return True if more exceptions of the file are raised `from None` than from a name."""
    causes = [node.cause for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    hidden = sum(isinstance(cause, ast.Constant) for cause in causes)
    return hidden > sum(isinstance(cause, ast.Name) for cause in causes)


def _is_new(raised: ast.expr | None) -> bool:
    """Return True if an exception is made where it is raised, so it cannot have another cause.

    Its class has a capital. `error.with_traceback(trace)` and functions may return a known exception.
    Nothing shows the cause of a SystemExit.
    """
    made = raised.func if isinstance(raised, ast.Call) else raised
    name = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")
    return name[:1].isupper() and name != "SystemExit"


def _is_rebound(handler: ast.ExceptHandler) -> bool:
    return any(
        isinstance(node, ast.Name)
        and node.id == handler.name
        and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(handler)
    )


def _new_name(tree: ast.Module, raised: ast.Raise, handler: ast.ExceptHandler) -> str | None:
    """Return the name that the file's handlers use most, if it is free in the function."""
    nodes = list(ast.walk(tree))
    handlers = [node for node in nodes if isinstance(node, ast.ExceptHandler)]
    used = Counter(node.name for node in handlers if node.name in _NAMES)
    functions = [node for node in nodes if isinstance(node, FunctionNode) and _holds(node, raised)]
    scope = functions[-1] if functions else tree  # the innermost function
    wanted = [name for name, _ in used.most_common() if name] + list(_NAMES)
    return next((name for name in wanted if _is_free(scope, handler, name)), None)


def _holds(function: FunctionNode, node: ast.stmt) -> bool:
    return function.lineno <= node.lineno <= (function.end_lineno or 0)


def _is_free(function: ast.AST, handler: ast.ExceptHandler, name: str) -> bool:
    """Return True if a handler can bind a name.

    The function may use the name only in other handlers that bind it, because it does not exist
    after them.
    """
    elsewhere = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.ExceptHandler) and node.name == name
    ]
    if any(handler in ast.walk(node) or node in ast.walk(handler) for node in elsewhere):
        return False  # one is inside the other
    bound = {id(inner) for node in elsewhere for inner in ast.walk(node)}
    return not any(id(node) not in bound and name in _names_of(node) for node in ast.walk(function))


def _names_of(node: ast.AST) -> Sequence[str | None]:
    """Return the names that a node uses or binds, without those of the nodes in it."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.MatchAs(name=bound) | ast.MatchStar(name=bound) | ast.MatchMapping(rest=bound):
            return (bound,)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
        case ast.alias(name=name, asname=alias):
            return ((alias or name).split(".")[0],)
    return ()


def _forget_causes(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            node.cause = None
        elif isinstance(node, ast.ExceptHandler):
            node.name = None
