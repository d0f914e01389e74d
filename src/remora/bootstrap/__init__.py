"""The composition root: configuration in, wired objects out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remora.bootstrap.caller import Caller, open_config
    from remora.bootstrap.forking import ForkWish, fork_agent, retry_jobs, retry_models
    from remora.bootstrap.observing import keep_witnessed
    from remora.bootstrap.opening import (
        connect_model,
        model_flags,
        model_status,
        open_project,
    )
    from remora.bootstrap.planning import Prepared, Wish, prepare, too_many
    from remora.bootstrap.proving import require_tests, try_tests
    from remora.bootstrap.resuming import Resumable, carry_on, connect_models, resumable
    from remora.bootstrap.wiring import (
        EMBEDDED_LIMIT,
        asking_for,
        carry_out,
        connect_own_models,
        max_turns_for,
    )

__all__ = [
    "EMBEDDED_LIMIT",
    "Caller",
    "ForkWish",
    "Prepared",
    "Resumable",
    "Wish",
    "asking_for",
    "carry_on",
    "carry_out",
    "connect_model",
    "connect_models",
    "connect_own_models",
    "fork_agent",
    "keep_witnessed",
    "max_turns_for",
    "model_flags",
    "model_status",
    "open_config",
    "open_project",
    "prepare",
    "require_tests",
    "resumable",
    "retry_jobs",
    "retry_models",
    "too_many",
    "try_tests",
]

# Loaded on first use: a command for the Hub must not pay for what runs agents.
_HOMES = {
    "Caller": "caller",
    "EMBEDDED_LIMIT": "wiring",
    "ForkWish": "forking",
    "Prepared": "planning",
    "Resumable": "resuming",
    "Wish": "planning",
    "asking_for": "wiring",
    "carry_on": "resuming",
    "carry_out": "wiring",
    "connect_model": "opening",
    "connect_models": "resuming",
    "connect_own_models": "wiring",
    "fork_agent": "forking",
    "keep_witnessed": "observing",
    "max_turns_for": "wiring",
    "model_flags": "opening",
    "model_status": "opening",
    "open_config": "caller",
    "open_project": "opening",
    "prepare": "planning",
    "require_tests": "proving",
    "resumable": "resuming",
    "retry_jobs": "forking",
    "retry_models": "forking",
    "too_many": "planning",
    "try_tests": "proving",
}

if not TYPE_CHECKING:  # a type checker knows the names above, and no others

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
