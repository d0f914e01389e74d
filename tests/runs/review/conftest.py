"""An environment with pytest, for merges whose tests run."""

from tests.plain_python import plain_python

__all__ = ["plain_python"]
