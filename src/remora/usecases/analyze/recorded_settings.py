"""The settings and the request of a recorded run."""

import json
from typing import Any

import msgspec
import pydantic

from remora.config.schema import Config
from remora.errors import UsageError
from remora.memory.events import RunStart
from remora.runs.planning.run_request import RunRequest

_OF_THE_RUN = (
    ("runner", "max_turns"),
    ("runner", "decisions"),
    ("runner", "opening"),
    ("runner", "memory", "mode"),
    ("runner", "memory", "packet_size_limit"),
    ("runner", "memory", "summarizer_mode"),
    ("model", "renderer"),
    ("model", "decoding"),
    ("model", "exact"),
    ("model", "max_requests"),
    ("model", "max_tokens"),
    ("gates", "time_s"),
    ("operations",),
)
"""Settings that affect what agents do; a resumed run keeps its recorded values."""


def recorded_config(config: Config, start: RunStart) -> Config:
    """Return the current configuration with the run's recorded settings.

    Raises UsageError if this version does not have a recorded setting, or does not take its value.
    """
    merged = config.model_dump(mode="json")
    for path in _OF_THE_RUN:
        recorded: Any = start.config
        for key in path:
            recorded = recorded.get(key) if isinstance(recorded, dict) else None
        if recorded is not None:
            *above, last = path
            place = merged
            for key in above:
                place = place[key]
            place[last] = recorded
    models = {name: type(settings) for name, settings in config.operations.items()}
    try:
        begun = Config.model_validate_json(json.dumps(merged), context=models)
    except pydantic.ValidationError as error:
        raise UsageError(
            f"the run cannot be continued: in config of its run_start, {_problem(error)}",
            hint="use the version of Remora that began the run, or start a new run",
        ) from error
    # the address of the database is in no dump
    return begun.model_copy(update={"postgres": config.postgres}).record_layers(config.layers)


def _problem(error: pydantic.ValidationError) -> str:
    """Describe the first setting that is not valid now, such as one of an older version."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"{key} is a setting that this version does not have"
    return f"{key} is not valid: {first['msg']}"


class _Recorded(msgspec.Struct):
    unsafe_fixes: bool = False
    missed: dict[str, dict[str, list[int]]] = {}
    seed: int | None = None
    max_turns: int | None = None
    proved: frozenset[tuple[str, str]] = frozenset()


def recorded_request(start: RunStart, concurrency: int | None = None) -> RunRequest:
    """Return a request with the recorded options. `concurrency` is not taken from the record."""
    try:
        recorded = msgspec.convert(start.config, _Recorded)
    except msgspec.ValidationError as error:
        raise UsageError(f"the run cannot be resumed: {error}") from error
    return RunRequest(
        concurrency=concurrency,
        unsafe_fixes=recorded.unsafe_fixes,
        missed=recorded.missed,
        seed=recorded.seed,
        max_turns=recorded.max_turns,
        proved=recorded.proved,
    )
