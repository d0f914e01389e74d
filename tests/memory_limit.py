"""A limit on the memory that Python code allocates at a time."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def memory_limit(most: int = 16 << 20) -> Iterator[None]:
    """Fail if the block has more than `most` bytes allocated at a time."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= most, f"{peak:,} bytes were allocated"
