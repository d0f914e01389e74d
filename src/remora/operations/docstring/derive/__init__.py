"""Descriptions that the code itself gives: from names, conditions, comments and other docstrings."""
