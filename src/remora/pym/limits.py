"""Resource limits for scripts, and the worker processes that enforce them."""

import functools
import os
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from pydantic_monty import Monty, MontySession

if TYPE_CHECKING:
    from pydantic_monty import OSPolicy, ResourceLimits

# A worker whose parent was killed exits when its run ends. This must take less than 10 s.
MAX_DURATION_S = 8.0
_MAX_RECURSION = 3000  # the worker's stack has room for more frames, but not for many times more
_REQUEST_TIMEOUT_S = 20.0  # after this time, an unresponsive worker is killed
_CHECKOUT_TIMEOUT_S = 120.0
_RUNS_PER_WORKER = 1000
_MIB = 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Resource limits for one run of a script."""

    duration_s: float = 5.0
    """Seconds in the sandbox, excluding host calls. At most 8."""
    wall_s: float = 300.0
    """Seconds in all, checked at each host call."""
    memory_mb: int = 64
    recursion: int = 1100
    """The number of stack frames, and the nesting depth of the result. At most 3000."""
    host_calls: int = 200
    print_bytes: int = 65536
    result_bytes: int = 4 * _MIB
    """The JSON size of a call's arguments, of its result, of the inputs, and of the script's result."""
    carried_bytes: int = 64 * _MIB
    """The JSON size of the arguments and results of all host calls together."""

    def __post_init__(self) -> None:
        if not 0 < self.duration_s <= MAX_DURATION_S:
            raise ValueError(f"duration_s must be in (0, {MAX_DURATION_S}]")
        if self.recursion > _MAX_RECURSION:
            raise ValueError(f"recursion must be at most {_MAX_RECURSION}")
        others = (self.wall_s, self.memory_mb, self.recursion, self.print_bytes, self.result_bytes)
        if min(*others, self.carried_bytes) <= 0 or self.host_calls < 0:
            raise ValueError("limits must be positive")


def open_sandbox(
    label: str, limits: Limits, *, clock: datetime, seed: int, checks: str | None = None
) -> MontySession:
    """Return a new sandbox whose clock is fixed at `clock`.

    If `checks` is given, the source is type-checked against these type stubs before it runs.
    """
    resources: ResourceLimits = {
        "max_feed_duration_secs": limits.duration_s,
        "max_turn_duration_secs": limits.duration_s,
        "max_memory": limits.memory_mb * _MIB,
        "max_recursion_depth": limits.recursion,
        # each call may need a name lookup and a wait for its future
        "max_suspensions": 3 * limits.host_calls + 100,
        "max_total_sleep_secs": 0.0,
    }
    policy: OSPolicy = {"datetime": clock, "sleep": "zero", "random_start": {"seed": seed}}
    return _pool(os.getpid()).checkout(
        script_name=label,
        limits=resources,
        os_policy=policy,
        type_check=checks is not None,
        type_check_stubs=checks,
        type_check_format="json",
        external_modules={},
    )


@functools.lru_cache(maxsize=1)
def _pool(_pid: int) -> Monty:
    """Return the worker pool of this process. A forked process creates a new pool."""
    pool = Monty(
        min_processes=1,
        max_processes=max(16, 2 * (os.cpu_count() or 1)),
        checkout_timeout=_CHECKOUT_TIMEOUT_S,
        request_timeout=_REQUEST_TIMEOUT_S,
        max_checkouts_per_worker=_RUNS_PER_WORKER,
    )
    return pool.__enter__()
