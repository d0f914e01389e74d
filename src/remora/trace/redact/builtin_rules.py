"""Built-in redaction rules, applied to every stream."""

from remora.trace.redact.by_place import BY_PLACE
from remora.trace.redact.by_shape import BY_SHAPE
from remora.trace.redact.rule import Rule
from remora.trace.redact.shapes_2026_11 import SHAPES_2026_11

BUILTIN: tuple[Rule, ...] = BY_SHAPE + SHAPES_2026_11 + BY_PLACE
"""Most specific first: if two rules find the same secret, the earlier one names it."""
