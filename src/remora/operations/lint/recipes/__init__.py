"""Recipes, which fix findings that ruff has no fix for."""
