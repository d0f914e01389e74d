"""Cache of the decoded IR of files, limited to a number of bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from remora.code.ir.model import LoweredFile, decode_lowered

LIMIT = 24 * 1024 * 1024
"""Encoded bytes of cached values. Decoded, they take up to 18 times as much memory.

Measured on sympy (33 MB encoded): with 5 MB, the callers of `simplify` took 60 % of their time for
decoding the same files again, more than 280 s on a busy machine; with 24 MB, 14 s and 480 MB.
"""


class IrCache:
    """Decoded IR of files. The cache may be shared by threads and views."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._lock = Lock()
        self._files: OrderedDict[Hashable, tuple[LoweredFile, int]] = OrderedDict()

    def get(self, name: Hashable) -> LoweredFile | None:
        with self._lock:
            if (found := self._files.get(name)) is None:
                return None
            self._files.move_to_end(name)
            return found[0]

    def decode(self, name: Hashable, stored: bytes) -> LoweredFile:
        """Decode a value and cache it. The least recently used values are evicted.

        Raises DecodeError if the value is invalid.
        """
        lowered = decode_lowered(stored)
        self.keep(name, lowered, len(stored))
        return lowered

    def keep(self, name: Hashable, lowered: LoweredFile, size: int) -> None:
        """Cache a value under `name`. `size` is its encoded size in bytes."""
        size = min(size, self._limit // 2)  # a very large value must not evict all others
        with self._lock:
            _, before = self._files.pop(name, (None, 0))
            self._files[name] = lowered, size
            self._size += size - before
            while self._size > self._limit and len(self._files) > 1:
                _, (_, oldest) = self._files.popitem(last=False)
                self._size -= oldest
