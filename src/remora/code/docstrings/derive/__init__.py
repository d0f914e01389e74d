"""Descriptions that the code itself gives: from names, conditions, comments and other docstrings."""

from remora.code.docstrings.derive.describe import described
from remora.code.docstrings.derive.evidence import Evidence, Gathered, gather
from remora.code.docstrings.derive.summary import inherits, summaries

__all__ = ["Evidence", "Gathered", "described", "gather", "inherits", "summaries"]
