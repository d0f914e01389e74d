"""The place of a missing summary, as it was measured on summaries that people wrote.

`docs/evals/judgement.md` describes how the weights were fitted, and what they gain.
"""

import ast
import textwrap
from typing import Any

from remora.code.syntax.signature import start_line
from remora.operations.docstring.documented_node import DocumentedNode
from remora.operations.docstring.insertion_point import file_bytes, header_end

_GIVEN, _ALONE = 0.2422, -0.23
_EMPTY = 'def function():\n    """'


def summary_place(found: DocumentedNode) -> dict[str, Any] | None:
    """Return the place of the summary of a function without a docstring, with the weights.

    The code comes first, and then its head again. Returns None for what was not measured: classes,
    modules, and functions whose body is on the same line.
    """
    node, source = found.node, found.source
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    first, body = start_line(node, source), header_end(node, file_bytes(source.raw)) + 1
    if node.body[0].lineno < body:
        return None
    lines = source.utf8.decode().split("\n")[first - 1 : node.end_lineno]
    code = textwrap.dedent("\n".join(lines)).split("\n")
    head, rest = ("\n".join(part) for part in (code[: body - first], code[body - first :]))
    stripped = rest.strip("\n")
    return {
        "before": f'{head}\n{stripped}\n\n\n{head}\n    """',
        "empty": _EMPTY,
        "given": _GIVEN,
        "alone": _ALONE,
        "end": ".",
    }
