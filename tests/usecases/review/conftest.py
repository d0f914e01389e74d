"""The project of the tests of reviews."""

from tests.runs.conftest import desk
from tests.runs.review.conftest import kept, shop

__all__ = ["desk", "kept", "shop"]
