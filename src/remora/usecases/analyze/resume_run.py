"""Resumes a recorded run with its recorded settings, but with current addresses and consent."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec
import pydantic

from remora.agents.definition.agent import Agent
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.project_interpreter import checked_python_for
from remora.config.schema import Config
from remora.errors import StreamDamaged, UsageError
from remora.memory.events import RunStart
from remora.models.protocol import Model
from remora.runs.continuation.resume import check_definition, finish_run
from remora.runs.execution.run import PreparedRun, Run, RunObserver, RunRequest
from remora.runs.judgement.judgement import judge_run
from remora.runs.planning.plan import Plan
from remora.runs.project import Project
from remora.runs.records.agent_stream import start_and_end_of
from remora.runs.records.attempts import Attempt, Attempts
from remora.runs.records.run_record import RunRecord, check_continuable
from remora.runs.records.run_stream import open_run
from remora.runs.review.repeats import settle_repeats
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.prepare_run import agents_for
from remora.usecases.analyze.remote_workers import LOCAL, workers_for
from remora.usecases.analyze.run_limits import RunBudget, run_to_end
from remora.usecases.analyze.run_models import connect_models, models_named_by
from remora.usecases.analyze.session import RunResult, Watching, unobserved
from remora.usecases.hub.fact_source import fact_source


@dataclass(frozen=True, kw_only=True)
class Resumable:
    """A run to resume, or some of its agents."""

    run: PreparedRun
    """The run, with the recorded configuration for all settings that affect agents."""
    record: RunRecord
    models: tuple[str, ...]
    """The names of the models that are needed."""
    only: frozenset[str] | None
    """The IDs of the agents to resume, or None for all."""

    @property
    def attempts(self) -> Attempts:
        """The attempts of the run."""
        return self.record.attempts

    @property
    def nothing_to_do(self) -> bool:
        """Return True if the run and all of its attempts have ended."""
        attempts = self.attempts
        return attempts.ended and not attempts.unended and not attempts.unbegun

    def check_model(self, model: str | None) -> None:
        """Raise UsageError if `model` is a different model. A server address is allowed."""
        if model is None or "://" in model or not self.models or model in self.models:
            return
        raise UsageError(
            f"the run uses the model {', '.join(self.models)}, not {model}",
            hint="omit --model, or pass the address of a server that has this model; "
            "`remora trace fork` can use another model",
        )


def prepare_resume(
    invocation: Invocation,
    project: Project,
    record: RunRecord,
    *,
    only: frozenset[str] | None = None,
    engine: str = LOCAL,
    concurrency: int | None = None,
) -> Resumable:
    """Return the remaining work of the run whose verified record is `record`.

    At most `concurrency` jobs run at a time. The plan, operations, seed, limits and model names are
    taken from the record. Consent, addresses and keys are never read from a stream. No index is built
    and no node is looked up ahead: facts come from the index that the run built when it began.

    Raises UsageError if an agent has changed or if required tests cannot run, StreamLocked if the
    run is still in progress, and StreamDamaged if a stream is damaged.
    """
    if record.is_written:
        with open_run(project, record) as stream:  # raises if it is locked, naming the writer
            record = stream.record
    attempts = record.attempts
    check_continuable(record.run_id, attempts.start)
    request = recorded_request(attempts.start, concurrency)
    project = replace(project, config=recorded_config(project.config, attempts.start))
    left = [attempt for attempt in attempts.unended if only is None or attempt.job.agent_id in only]
    unbegun = attempts.unbegun if only is None else []
    wanted = {job.operation for job in [*(attempt.job for attempt in left), *unbegun]}
    agents = agents_for(project, sorted(wanted))
    of_run = attempts.start.config.get("model_name")
    names = [_model_of(project, attempt, agents, of_run) for attempt in left]
    names += [agents[job.operation].definition.model or of_run for job in unbegun]
    python = checked_python_for(invocation, project, agents.values())
    run = PreparedRun(
        run_id=record.run_id,
        project=project,
        request=request,
        plan=_plan(attempts),
        agents=agents,
        source=fact_source(invocation, project),
        base=None,
        ruff=None,
        python=python,
        workers=workers_for(project, engine),
    )
    models = tuple(dict.fromkeys(name for name in names if name))
    return Resumable(run=run, record=record, models=models, only=only)


def connect_wanted(invocation: Invocation, wanted: Resumable) -> dict[str, Model]:
    """Connect to the models of a run's remaining work. Raises whatever `connect_models` raises."""
    run = wanted.run
    named = models_named_by(run.agents.values())
    return connect_models(invocation, run.project, wanted.attempts.start, wanted.models, named)


async def run_remaining(
    wanted: Resumable,
    models: Mapping[str, Model],
    observer: RunObserver,
    clock: Callable[[], datetime],
) -> None:
    """Run the remaining jobs, or only the selected agents.

    Raises whatever `finish_run` raises, and OutsideError if a required Hub is not running.
    """
    async with wanted.run.source.opened() as facts:
        run = Run(
            prepared=wanted.run,
            models=models,
            settings=wanted.attempts.start.config,
            facts=facts,
            observer=observer,
            clock=clock,
            judge=judge_run,
        )
        await finish_run(run, wanted.record, only=wanted.only)


def _model_of(
    project: Project, attempt: Attempt, agents: Mapping[str, Agent], of_run: str | None
) -> str | None:
    """Return the name of the model that is needed to continue an attempt.

    Returns None if only the attempt's `job_end` event is missing, or if the attempt is damaged and
    cannot be continued.
    """
    agent, agent_id = agents[attempt.job.operation], attempt.job.agent_id
    try:
        start, end = start_and_end_of(project.trace, agent_id)
    except StreamDamaged:
        return None
    if end is not None:
        return None
    if start is None:
        return agent.definition.model or of_run
    check_definition(start, agent, project.redact)
    return start.model.get("name") or agent.definition.model or of_run


def _plan(attempts: Attempts) -> Plan:
    """Return the recorded plan, for observers."""
    plan = attempts.start.plan
    return Plan(
        jobs=attempts.jobs,
        operations=tuple(plan.get("operations", ())),
        nodes=plan.get("nodes", 0),
        skipped=plan.get("skipped", 0),
        findings=plan.get("findings", 0),
        unreadable=tuple(plan.get("unreadable", ())),
    )


_RECORDED_SETTINGS = (
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
    ("gates", "static"),
    ("operations",),
)
"""Settings that affect what agents do; a resumed run keeps its recorded values."""


def recorded_config(config: Config, start: RunStart) -> Config:
    """Return the current configuration with the run's recorded settings.

    Raises UsageError if this version does not have a recorded setting, or does not take its value.
    """
    merged = config.model_dump(mode="json")
    for path in _RECORDED_SETTINGS:
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
    """The fields of a request that a run records, as RunRequest names them."""

    unsafe_fixes: bool = False
    missed: dict[str, dict[str, list[int]]] = {}
    seed: int | None = None
    max_turns: int | None = None


def recorded_request(start: RunStart, concurrency: int | None = None) -> RunRequest:
    """Return a request with the recorded options. `concurrency` is not taken from the record."""
    try:
        recorded = msgspec.convert(start.config, _Recorded)
    except msgspec.ValidationError as error:
        raise UsageError(f"the run cannot be resumed: {error}") from error
    return RunRequest(concurrency=concurrency, **msgspec.structs.asdict(recorded))


def resume_recorded(  # noqa: PLR0913 (one keyword for each option of the command)
    invocation: Invocation,
    project: Project,
    record: RunRecord,
    *,
    model: str | None = None,
    engine: str = LOCAL,
    concurrency: int | None = None,
    budget: RunBudget | None = None,
    watching: Watching = unobserved,
    connected: Callable[[Resumable], None] = lambda _wanted: None,
) -> RunResult:
    """Run the jobs that are left of a recorded run, if any.

    `model` is the name or address that the user gave, if any. `connected` is called before the
    first job begins. Raises whatever `prepare_resume` and `connect_wanted` raise.
    """
    wanted = prepare_resume(invocation, project, record, engine=engine, concurrency=concurrency)
    wanted.check_model(model)
    if wanted.nothing_to_do:
        return RunResult(project=wanted.run.project, run_id=record.run_id, had_ended=True)
    models = connect_wanted(invocation, wanted)
    connected(wanted)
    return continue_run(wanted, models, watching, budget)


def continue_run(
    wanted: Resumable,
    models: Mapping[str, Model],
    watching: Watching = unobserved,
    budget: RunBudget | None = None,
) -> RunResult:
    """Run the remaining jobs, or only the agents in `wanted.only`, and close the models."""
    run, budget = wanted.run, budget or RunBudget()
    with watching() as observer:
        counting = budget.watch(observer)
        stopped = run_to_end(
            lambda: run_remaining(wanted, models, counting, utc_now), models.values(), budget
        )
    settle_repeats(run.project, run.run_id)
    return RunResult(project=run.project, run_id=run.run_id, stopped=stopped, only=wanted.only)
