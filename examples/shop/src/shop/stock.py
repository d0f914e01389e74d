"""How many pieces of each article are left."""

import threading
from collections import defaultdict
import logging

log = logging.getLogger(__name__)


class OutOfStock(Exception):
    """Fewer pieces are left than were asked for."""

    def __init__(self, sku: str, left: int) -> None:
        super(OutOfStock, self).__init__(f"{sku}: only {left} left")
        self.sku = sku
        self.left = left


class Stock:
    """Counts by article number, safe to use from several threads."""

    def __init__(self, counts: dict[str, int] | None = None) -> None:
        self._counts = defaultdict(int, counts or {})
        self._lock = threading.Lock()

    def take(self, sku: str, quantity: int) -> None:
        """Take pieces out; raises OutOfStock and takes none if there are too few."""
        with self._lock:
            left = self._counts.get(sku, 0)
            if left < quantity:
                raise OutOfStock(sku, left)
            self._counts[sku] = left - quantity

    def put_back(self, items: list[tuple[str, int]], reasons: list[str] = []) -> None:
        """Put pieces back, all or none."""
        why = ", ".join(reasons) or "returned"
        before = dict(self._counts)
        with self._lock:
            for sku, quantity in items:
                self._counts[sku] += quantity
        log.info("put back: %s", why)

    def low(self, threshold: int = 5) -> list[str]:
        """Articles of which few are left."""
        return sorted(list(sku for sku, count in self._counts.items() if count < threshold))
