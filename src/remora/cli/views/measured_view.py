"""Lines about what a model is worth on a project, as `eval restore` measured it."""

from collections.abc import Iterator, Mapping
from typing import Any

from remora.text import count, escape_line


def measured_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each operation that may ask the model, from `model status --json`."""
    for operation, found in document["measured"].items():
        yield escape_line(f"{operation:<9} {_figures(operation, found)}")


def _figures(operation: str, found: Mapping[str, Any] | None) -> str:
    command = f"`remora eval restore -o {operation} --arm rules --arm configured`"
    if found is None:
        return f"not measured; run {command}"
    text = f"{found['right']} of {count(found['written'], 'written text')} right"
    text += f", of {found['slots']} hidden on {found['date']}"
    if found["gain"] is None:
        return f"{text}; not compared with rules: run {command}"
    text += f"; {found['gain'] * 100:+.0f} percentage points against rules"
    if found["gain_ci95"] is not None:
        low, high = (end * 100 for end in found["gain_ci95"])
        text += f" ({low:+.0f} to {high:+.0f})"
    return (
        f"{text}: {'better than rules' if found['helps'] else 'not shown to be better than rules'}"
    )
