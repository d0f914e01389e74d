"""Everything that one file says, from its bytes alone."""

import ast
from hashlib import sha256

import msgspec

from remora.code.file_facts import FileFacts, NodeFacts
from remora.code.ir.build.lowering import Lowering, lower
from remora.code.syntax.annotations import has_type_hints
from remora.code.syntax.complexity import complexities
from remora.code.syntax.definitions import Definition
from remora.code.syntax.docstring_drift import docstring_outdated
from remora.code.syntax.error_recovery import salvage
from remora.code.syntax.imports import imported_names
from remora.code.syntax.signature import (
    decorators,
    docstring,
    docstring_text,
    first_line_of,
    segment,
    signature,
)
from remora.code.syntax.source import Source, Unreadable, read_broken, read_source
from remora.code.syntax.spans import Span, module_span, span_with
from remora.ids import MODULE, NodeKey, node_key, spell_path
from remora.text import REPORT, fault


def read_facts(path: str, source: bytes) -> FileFacts:
    """Return the facts of one file; `path` is relative to the root, POSIX, raw. Never raises or warns.

    A file that a fault of ours keeps from being read has no nodes.
    """
    try:
        return _read_facts(path, source)
    except Exception as error:  # noqa: BLE001 - one odd file must not cost all the others
        return msgspec.structs.replace(
            _read_facts(path, b""),
            file_hash=sha256(source).hexdigest(),
            partial=True,
            detail=_why_unread(error),
        )


def _why_unread(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "analysing it takes too much memory"
    return f"{fault(error)}; {REPORT}"


def _read_facts(path: str, source: bytes) -> FileFacts:
    read = read_source(path, source)
    detail = ""
    if isinstance(read, Unreadable):
        detail = read.detail
        read = read_broken(source, salvage)
    spelled = spell_path(path)
    lowering = lower(spelled, read.tree)
    span, file_hash = module_span(read)
    return FileFacts(
        path=spelled,
        file_hash=file_hash,
        partial=bool(detail),
        detail=detail,
        nodes=_nodes(path, lowering, read, span),
        lowered=lowering.lowered,
    )


def _nodes(path: str, lowering: Lowering, source: Source, span: Span) -> tuple[NodeFacts, ...]:
    definitions = lowering.definitions
    counts = complexities(definitions, lowering.points)
    key = node_key(lowering.lowered.path)
    hinted = _hinted(definitions, key)
    module = NodeFacts(
        key=key,
        qualname=MODULE,
        node_name=MODULE,
        node_type="module",
        signature=None,
        docstring=docstring(source.tree.body),
        docstring_outdated=False,
        imports=imported_names(path, lowering.imports),
        decorators=(),
        bases=(),
        source_hash=span.source_hash,
        body_hash=span.body_hash,
        line_start=span.line_start,
        line_count=span.line_count,
        complexity=None,
        has_type_hints=hinted[key],
    )
    nodes = [
        _node(definition, source, complexity, hinted[definition.key])
        for definition, complexity in zip(definitions, counts, strict=True)
    ]
    return (module, *nodes)


def _hinted(definitions: list[Definition], module: NodeKey) -> dict[NodeKey, bool]:
    """Of a class and of the module: whether everything directly in them is annotated."""
    hinted = {module: True}
    holders = {module}
    for node, _, key, _ in definitions:
        if isinstance(node, ast.ClassDef):
            hinted[key] = True
            holders.add(key)
        else:
            hinted[key] = has_type_hints(node)
    for _, _, key, parent in reversed(definitions):
        if not hinted[key] and parent in holders:
            hinted[parent] = False
    return hinted


def _node(
    definition: Definition,
    source: Source,
    complexity: int,
    hinted: bool,
) -> NodeFacts:
    node, qualname, key, _ = definition
    body = node.body
    text = docstring_text(body)
    span = span_with(node, source, body if text is None else body[1:])
    bases = node.bases if isinstance(node, ast.ClassDef) else None
    # by place: giving sixteen values by name takes five times as long
    return NodeFacts(
        key,
        qualname,
        node.name,
        "function" if bases is None else "class",
        signature(node),
        None if text is None else first_line_of(text),
        text is not None and docstring_outdated(node, text),
        None,
        decorators(node, source) if node.decorator_list else (),
        tuple(segment(base, source) for base in bases) if bases else (),
        span.source_hash,
        span.body_hash,
        span.line_start,
        span.line_count,
        complexity,
        hinted,
    )
