"""Families of call formats: each small model writes a call in its own marks."""

from remora.models.families.parsing import FAMILIES, family_of, parse_call

__all__ = ["FAMILIES", "family_of", "parse_call"]
