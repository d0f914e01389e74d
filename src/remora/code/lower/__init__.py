"""A syntax tree becomes what linking needs of it, in one pass."""

from remora.code.lower.statements import Lowering, lower

__all__ = ["Lowering", "lower"]
