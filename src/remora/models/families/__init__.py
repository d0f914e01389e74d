"""Families of call formats: each small model writes a call in its own marks."""

from remora.models.families.all_families import FAMILIES, MARKS
from remora.models.families.parsing import family_of, parse_call

__all__ = ["FAMILIES", "MARKS", "family_of", "parse_call"]
