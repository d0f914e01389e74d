"""Static analysis of one Python file, without reading other files."""

import ast
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec

from remora.code.docstrings.drift_rules import is_docstring_outdated
from remora.code.file_facts import PARTLY_READ, FileFacts, NodeFacts
from remora.code.ir.lowering.dispatch import LoweringResult, lower_module
from remora.code.syntax.definitions import Definition, ImportNode
from remora.code.syntax.error_recovery import parse_with_recovery
from remora.code.syntax.signature import (
    decorator_texts,
    docstring_summary,
    docstring_text,
    first_text_line,
    has_type_hints,
    signature,
    source_segment,
)
from remora.code.syntax.source import Source, Unreadable, read_with_recovery, shared_source
from remora.code.syntax.spans import Span, module_span, span_of
from remora.ids import MODULE, NodeKey, escape_path, node_key
from remora.text import REPORT, bug_report_line

_SOURCE_FOLDER = "src"
_WORD = re.compile(r"[^\W\d]\w*")
MODULE_LINK = re.compile(rb"((?:\.\./)*)(\w[\w/]*)\.pyi?")
"""The text of a link to a module, which is also that of the file that some systems have for it."""


def read_facts(path: str, source: bytes) -> FileFacts:
    """Return the facts about a file. Never raises or warns. `path` is a relative POSIX path.

    The text of a link to a module counts as an import of all its names. If an internal error occurs,
    return the facts about an empty file, marked as partial.
    """
    try:
        if (link := MODULE_LINK.fullmatch(source)) is None:
            return _read_facts(path, source)
        dots = b"." * (1 + link[1].count(b"/"))
        facts = _read_facts(path, b"from %b import *" % (dots + link[2].replace(b"/", b".")))
        return msgspec.structs.replace(facts, file_hash=sha256(source).hexdigest())
    except Exception as error:  # noqa: BLE001 - an error in one file must not affect others
        return msgspec.structs.replace(
            _read_facts(path, b""),
            file_hash=sha256(source).hexdigest(),
            partial=True,
            detail=_why_unread(error),
        )


def _why_unread(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "skipped: analyzing it takes too much memory"
    return f"{bug_report_line(error)}; {REPORT}"


def _read_facts(path: str, source: bytes) -> FileFacts:
    read = shared_source(path, source)
    detail = ""
    if isinstance(read, Unreadable):
        detail = read.detail
        read = read_with_recovery(source, parse_with_recovery)
    spelled = escape_path(path)
    lowering = lower_module(spelled, read.tree)
    lowered = lowering.lowered
    if detail:  # any word of the file may be in a statement that could not be recovered
        names = {*lowered.names, *_WORD.findall(source.decode("utf-8", "replace")), PARTLY_READ}
        lowered = msgspec.structs.replace(lowered, names=tuple(sorted(names)))
    span, file_hash = module_span(read)
    return FileFacts(
        path=spelled,
        file_hash=file_hash,
        partial=bool(detail),
        detail=detail,
        nodes=_nodes(path, lowering, read, span),
        lowered=lowered,
    )


def _nodes(path: str, lowered: LoweringResult, source: Source, span: Span) -> tuple[NodeFacts, ...]:
    definitions = lowered.definitions
    counts = _complexities(definitions, lowered.branches)
    key = node_key(lowered.lowered.path)
    hinted = _with_type_hints(definitions, key)
    module = NodeFacts(
        key=key,
        qualname=MODULE,
        node_name=MODULE,
        node_type="module",
        signature=None,
        docstring=docstring_summary(source.tree.body),
        docstring_outdated=False,
        imports=_imported_names(path, lowered.imports),
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


def _with_type_hints(definitions: list[Definition], module: NodeKey) -> dict[NodeKey, bool]:
    """Map the key of each node to whether the node has type hints.

    A function has type hints if it is annotated. A class or module has type hints if all its direct
    children do.
    """
    hinted = {module: True}
    containers = {module}
    for node, _, key, _ in definitions:
        if isinstance(node, ast.ClassDef):
            hinted[key] = True
            containers.add(key)
        else:
            hinted[key] = has_type_hints(node)
    for _, _, key, parent in reversed(definitions):
        if not hinted[key] and parent in containers:
            hinted[parent] = False
    return hinted


def _node(definition: Definition, source: Source, complexity: int, hinted: bool) -> NodeFacts:
    node, qualname, key, _ = definition
    body = node.body
    text = docstring_text(body)
    span = span_of(node, source, body if text is None else body[1:])
    bases = node.bases if isinstance(node, ast.ClassDef) else None
    # positional arguments: sixteen keyword arguments take five times as long
    return NodeFacts(
        key,
        qualname,
        node.name,
        "function" if bases is None else "class",
        signature(node),
        None if text is None else first_text_line(text),
        text is not None and is_docstring_outdated(node, text),
        None,
        decorator_texts(node, source) if node.decorator_list else (),
        tuple(source_segment(base, source) for base in bases) if bases else (),
        span.source_hash,
        span.body_hash,
        span.line_start,
        span.line_count,
        complexity,
        hinted,
    )


def _complexities(definitions: Sequence[Definition], branches: Sequence[int]) -> list[int]:
    """Return the complexity of each definition.

    `branches` contains the number of branches in each definition, excluding nested definitions. The
    complexity of a function is 1 plus its number of branches. The complexity of a class is 1 plus
    its number of branches plus the complexities of its methods. If a class has methods, this sum is
    divided by their number and rounded down, and 1 is added if there is more than one method.
    """
    methods: dict[NodeKey, list[int]] = {}
    for (node, _, _, parent), count in zip(definitions, branches, strict=True):
        if not isinstance(node, ast.ClassDef):
            methods.setdefault(parent, []).append(count + 1)
    return [
        _of_class(count, methods.get(key, ())) if isinstance(node, ast.ClassDef) else count + 1
        for (node, _, key, _), count in zip(definitions, branches, strict=True)
    ]


def _of_class(branches: int, methods: Sequence[int]) -> int:
    whole = 1 + branches + sum(methods)
    return whole if not methods else int(whole / len(methods)) + (len(methods) > 1)


def package_of(path: str) -> tuple[str, ...]:
    """Return the names of the package folders that contain a file.

    The outermost package folder follows the last folder whose name is `src` or is not an
    identifier.
    """
    folders = path.split("/")[:-1]
    for index in range(len(folders) - 1, -1, -1):
        if folders[index] == _SOURCE_FOLDER or not folders[index].isidentifier():
            return tuple(folders[index + 1 :])
    return tuple(folders)


def _imported_names(path: str, imports: Iterable[ImportNode]) -> tuple[str, ...]:
    """Return the unique imported names, such as `os` or `pkg.sub.*`, in source order."""
    names: dict[str, None] = {}
    package = package_of(path)
    for node in imports:
        base = "" if isinstance(node, ast.Import) else _module_prefix(package, node)
        for alias in node.names:
            names[base + alias.name] = None
    return tuple(names)


def _module_prefix(package: tuple[str, ...], node: ast.ImportFrom) -> str:
    """Return the module prefix of an imported name, including the trailing dot."""
    module = f"{node.module}." if node.module else ""
    if not node.level:
        return module
    parts = len(package) - node.level + 1
    if parts < 0 or (parts == 0 and not module):
        return "." * node.level + module
    return "".join(f"{part}." for part in package[:parts]) + module
