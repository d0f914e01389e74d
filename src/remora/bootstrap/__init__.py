"""The composition root: configuration in, wired objects out."""

from remora.bootstrap.caller import (
    Caller,
    connect_model,
    model_flags,
    model_status,
    open_config,
    open_project,
)
from remora.bootstrap.forking import ForkWish, fork_agent, retry_jobs, retry_models
from remora.bootstrap.planning import Prepared, Wish, prepare, too_many
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
    "max_turns_for",
    "model_flags",
    "model_status",
    "open_config",
    "open_project",
    "prepare",
    "resumable",
    "retry_jobs",
    "retry_models",
    "too_many",
]
