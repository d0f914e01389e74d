"""Files of a project's tests."""

import re

_TEST = re.compile(r"(?:^|/)(?:tests?|testing)/|(?:^|/)(?:test_[^/]*|[^/]*_tests?|conftest)\.py$")


def is_test_file(path: str) -> bool:
    """Return True if a path is that of a test or of a file beside tests."""
    return _TEST.search(path) is not None
