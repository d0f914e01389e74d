"""What a worker reports about its own machine."""

import msgspec


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's installation, machine, database role and model.

    `code` is the digest of its Remora and ruff. `may_append` and `changes` are the rights of its
    role: `changes` has the statements with which it could change or delete stored events.
    `clock_ahead_s` is the difference to the database server's clock. `isolation` is the best
    level of its sandbox, and `git` is empty if git does not work. `database_error`, `model_error`
    and `error` say what cannot be used; `model_is_needed` is true if a model is configured.
    """

    host: str
    pid: int
    python: str = ""
    code: str = ""
    database: str = ""
    database_error: str = ""
    role: str = ""
    may_append: bool = False
    changes: tuple[str, ...] = ()
    clock_ahead_s: float | None = None
    isolation: int = 0
    git: str = ""
    free_bytes: int = 0
    model: str = ""
    model_error: str = ""
    model_is_needed: bool = False
    error: str = ""
