"""Export of a run as an Inspect log (`.eval`), using the optional dependency `inspect_ai`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remora.errors import StreamDamaged, UsageError, install_extra
from remora.exports.inspect_logs.inspect_sample import Json, model_name, usage
from remora.exports.run_bundles import RunBundle
from remora.exports.stream_summary import HINT, AgentSummary

SUFFIX = ".eval"
_TASK = "remora"


def check_inspect() -> None:
    """Raise UsageError with an installation hint if `inspect_ai` is missing."""
    from importlib.util import find_spec

    if find_spec("inspect_ai") is None:
        raise UsageError(
            "`--format inspect` requires the inspect-ai package, which is not installed",
            hint=install_extra("inspect"),
        )


def log_name(group: RunBundle) -> str:
    """Return the file name of a run's log, for use in a folder of logs."""
    name = group.run_id if group.whole and group.path else group.agents[0]
    return f"{name}{SUFFIX}"


def eval_log(
    group: RunBundle, surveys: Sequence[AgentSummary], samples: Sequence[Json], version: str
) -> Json:
    """Return the log as JSON, with the run as the evaluation and its agents as samples."""
    models = sorted({model_name(survey) for survey in surveys})
    began = group.began or min((s.began for s in surveys), default="")
    ended = max((survey.ended for survey in surveys), default=began)
    return {
        "version": 2,
        "status": "success" if all(_is_over(survey) for survey in surveys) else "cancelled",
        "eval": {
            "eval_id": group.run_id,
            "run_id": group.run_id,
            "task_id": group.run_id,
            "created": began,
            "task": _TASK,
            "dataset": {
                "name": group.run_id,
                "samples": len(samples),
                "sample_ids": [each["id"] for each in samples],
            },
            "model": models[0] if models else "none/none",
            "config": {"epochs": 1},
            "revision": _revision(group),
            "packages": {"remora": version},
            "metadata": {"run_id": group.run_id, "models": models},
        },
        "stats": {"started_at": began, "completed_at": ended, "model_usage": _usage(surveys)},
        "results": {
            "total_samples": len(samples),
            "completed_samples": sum(_is_over(survey) for survey in surveys),
            "scores": [
                _score(name, samples)
                for name in sorted({n for one in samples for n in one["scores"]})
            ],
        },
        "samples": list(samples),
    }


def write_log(log: Json, path: Path) -> None:
    """Write a log to a new file, whose name must end in `.eval`.

    Raises StreamDamaged if Inspect rejects a value. For example, a run that was killed at its start
    has no start time.
    """
    from inspect_ai.log import EvalLog, write_eval_log

    try:
        checked = EvalLog.model_validate(log)
    except ValueError as error:
        first = str(error).split("\n")[1:3]
        raise StreamDamaged(
            f"{log['eval']['run_id']} cannot be exported as an Inspect log: {': '.join(map(str.strip, first))}",
            hint=HINT,
        ) from error
    write_eval_log(checked, path, format="eval")


def _is_over(survey: AgentSummary) -> bool:
    return survey.status not in ("running", "interrupted")


def _revision(group: RunBundle) -> Json | None:
    commit = group.start.base.get("commit") if group.start is not None else None
    return {"type": "git", "origin": "", "commit": commit} if commit else None


def _usage(surveys: Sequence[AgentSummary]) -> Json:
    sums: dict[str, tuple[int, int]] = {}
    for survey in surveys:
        before = sums.get(model_name(survey), (0, 0))
        sums[model_name(survey)] = (
            before[0] + survey.input_tokens,
            before[1] + survey.output_tokens,
        )
    return {name: usage(*tokens) for name, tokens in sums.items()}


def _score(name: str, samples: Sequence[Json]) -> Json:
    given: list[Mapping[str, Any]] = [
        each["scores"][name] for each in samples if name in each["scores"]
    ]
    right = sum(score["value"] == "C" for score in given)
    return {
        "name": name,
        "scorer": name,
        "scored_samples": len(given),
        "unscored_samples": len(samples) - len(given),
        "metrics": {"accuracy": {"name": "accuracy", "value": right / len(given)}},
    }
