"""A syntax tree becomes what linking needs of it, in one pass."""

from remora.code.lower.lowering import Lowering, lower

__all__ = ["Lowering", "lower"]
