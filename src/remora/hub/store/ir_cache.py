"""Cache of decoded IR files, bounded in bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from remora.code.ir.model import LoweredFile, decode_lowered

LIMIT = 5 * 1024 * 1024
"""Encoded bytes whose decoded form is kept; that takes up to eighteen times as much memory."""


class IrCache:
    """Decoded forms by what they were decoded from: a content's form never changes, so threads and
    views may share one."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[LoweredFile, int]] = OrderedDict()

    def get(self, name: Hashable) -> LoweredFile | None:
        """Return the cached value of `name`."""
        with self._lock:
            found = self._kept.get(name)
            if found is None:
                return None
            self._kept.move_to_end(name)
            return found[0]

    def decode(self, name: Hashable, stored: bytes) -> LoweredFile:
        """Decode and keep it; what was used longest ago makes room. Raises DecodeError."""
        lowered = decode_lowered(stored)
        self.keep(name, lowered, len(stored))
        return lowered

    def keep(self, name: Hashable, lowered: LoweredFile, size: int) -> None:
        """Keep it under `name`; `size` is that of its encoded form."""
        size = min(size, self._limit // 2)  # one that is too large does not drive out all others
        with self._lock:
            _, before = self._kept.pop(name, (None, 0))
            self._kept[name] = lowered, size
            self._size += size - before
            while self._size > self._limit and len(self._kept) > 1:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._size -= oldest
