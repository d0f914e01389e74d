"""Facts of small files for the tests of the Hub."""

import re
from hashlib import sha256

from remora.code.extract import parse_module
from remora.code.facts import FileFacts, NodeFacts
from remora.code.lowered import Lowered
from remora.code.nodes import Module
from remora.ids import spell_path


def facts_of(path: str, source: str) -> FileFacts:
    """What a file says, its names without knowing what they are."""
    module = parse_module(path, source.encode())
    assert isinstance(module, Module), module
    spelled = spell_path(path)
    nodes = tuple(
        NodeFacts(
            key=node.key,
            qualname=node.qualname,
            node_name=node.qualname.rpartition(".")[2],
            node_type=node.node_type,
            signature=node.signature,
            docstring=node.docstring,
            docstring_outdated=False,
            imports=() if node.node_type == "module" else None,
            decorators=node.decorators,
            bases=(),
            source_hash=node.source_hash,
            body_hash=node.body_hash,
            line_start=node.line_start,
            line_count=node.line_count,
            complexity=None if node.node_type == "module" else 1,
            has_type_hints=False,
        )
        for node in module.nodes
    )
    return FileFacts(
        path=spelled,
        file_hash=sha256(source.encode()).hexdigest(),
        partial=False,
        detail="",
        nodes=nodes,
        lowered=Lowered(path=spelled, names=tuple(sorted(set(re.findall(r"[^\W\d]\w*", source))))),
    )
