"""Folders whose code is not what a project provides."""

BESIDE = frozenset(("docs", "doc", "examples", "example", "benchmarks", "benchmark", "bench"))
"""Folders of examples, documentation and benchmarks."""
VENDORED = frozenset(
    ("_vendor", "vendor", "_vendored", "vendored", "third_party", "thirdparty", "extern", "externals",
     "versioneer.py")
)  # fmt: skip
"""Folders of code that was copied from other projects, and a file that many projects copy."""


def is_vendored(path: str) -> bool:
    """Return True if a file was copied from another project, or is in a folder of such files."""
    return not VENDORED.isdisjoint(path.split("/"))
