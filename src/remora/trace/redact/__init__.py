"""Redaction: no secret enters a stream; what stands in its place can be told apart."""

from remora.trace.redact.builtin import BUILTIN
from remora.trace.redact.placeholder import PLACEHOLDER, new_placeholders, placeholders
from remora.trace.redact.redactor import Redactor
from remora.trace.redact.rule import OwnRule, Rule

__all__ = [
    "BUILTIN",
    "PLACEHOLDER",
    "OwnRule",
    "Redactor",
    "Rule",
    "new_placeholders",
    "placeholders",
]
