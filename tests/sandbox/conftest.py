"""Fixtures of this folder."""

from tests.workspaces.conftest import base

__all__ = ["base"]
