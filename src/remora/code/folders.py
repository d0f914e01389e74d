"""Folders whose code is not what a project provides."""

BESIDE = frozenset(("docs", "doc", "examples", "example", "benchmarks", "benchmark", "bench"))
"""Folders of examples, documentation and benchmarks."""
VENDORED = frozenset(
    ("_vendor", "vendor", "_vendored", "vendored", "third_party", "extern", "externals")
)
"""Folders of code that was copied from other projects."""


def is_vendored(path: str) -> bool:
    """Return True if a file is in a folder of code that was copied from other projects."""
    return not VENDORED.isdisjoint(path.split("/")[:-1])
