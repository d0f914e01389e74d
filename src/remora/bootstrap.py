"""The composition root: configuration in, wired objects out."""

import hmac
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os.path import lexists, realpath
from pathlib import Path
from typing import Any

from remora.agents import Agent, load_agents
from remora.agents.agent import agent_named
from remora.agents.decide import ANSWER_TOKENS, Asking, strategy_for
from remora.agents.pull import NoHub
from remora.config import Config, UserFolders, api_key, load_config
from remora.errors import ConfigError, NotFound, UsageError
from remora.files import IgnoreRules, find_root, project_files
from remora.models import Model
from remora.models.provider import Status, open_model, status
from remora.runs.changed import changed_nodes
from remora.runs.execute import LocalEngine, Run, Watcher, execute
from remora.runs.leftovers import remove_leftovers
from remora.runs.plan import MAX_JOBS, Plan, Selection, make_plan, read_modules
from remora.runs.project import Project, root_name
from remora.runs.trust import install_key
from remora.trace import GlobalLog, TraceFolder, utc_now
from remora.trace.redact import OwnRule, Redactor
from remora.workspaces import Base, SlotDriver, is_junk, take_base

EMBEDDED_LIMIT = 600
"""Tokens of a whole request to the embedded model: what it reads in about two seconds."""
DEFAULT_OPERATIONS = ("lint",)


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who asks, from where: the process's environment and folder, and the global flags."""

    environ: Mapping[str, str]
    folder: Path
    root: Path | None = None
    config_file: Path | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folders(self) -> UserFolders:
        """The user's own folders."""
        return UserFolders.from_environ(self.environ)

    def find_root(self, paths: Sequence[Path] = ()) -> Path:
        """`--root`, else the root of the first target, else of the folder we are in."""
        if self.root is not None:
            if not self.root.is_dir():
                raise UsageError(f"{self.root} is not a folder", hint="--root names a folder")
            return self.root.resolve()
        start = self.folder / paths[0] if paths else self.folder
        if not start.exists():
            raise UsageError(
                f"{paths[0] if paths else start} does not exist",
                hint="name a file or folder of the project",
            )
        return find_root(start)


def open_config(caller: Caller, root: Path) -> Config:
    """The configuration that holds for `root`. Raises ConfigError."""
    user = caller.folders.config_file
    project = caller.config_file or root / "remora.yaml"
    if caller.config_file is not None and not project.is_file():
        raise UsageError(f"{project} does not exist", hint="--config names a YAML file")
    if caller.config_file is None and not Path(realpath(project)).is_relative_to(root):
        # an error quotes what it complains of: no clone may have it quote a file from elsewhere
        raise ConfigError(f"{project} is a link out of the project", hint="put the file there")
    return load_config(
        user_file=user if lexists(user) else None,
        project_file=project if lexists(project) else None,
        environ=caller.environ,
        flags=caller.flags,
    )


def open_project(caller: Caller, paths: Sequence[Path] = ()) -> Project:
    """The project around the given targets. Raises UsageError, ConfigError, DiskError.

    No agent is loaded: a wrong definition is in nobody's way who only looks back or decides.
    """
    root = caller.find_root(paths)
    config = open_config(caller, root)
    _refuse_missing(config)
    trace = TraceFolder(root)
    trace.check()
    name = root_name(root)
    key = install_key(caller.folders.state)
    return Project(
        root=root,
        config=config,
        trace=trace,
        cache=caller.folders.cache / "roots" / name,
        state=caller.folders.state / "roots" / name,
        install_key=key,
        redact=_redactor(caller, config, key),
    )


def _redactor(caller: Caller, config: Config, key: bytes) -> Redactor:
    """Fingerprints are this installation's: nobody can try out guesses on a stream."""
    environ = dict(caller.environ)
    model_key = _key(caller)
    if model_key is not None:  # it may stand in the user's file
        environ["REMORA_API_KEY"] = model_key
    try:
        return Redactor(
            hmac.digest(key, b"redaction", "sha256"),
            environ=environ,
            own=[OwnRule(name=rule.name, pattern=rule.pattern) for rule in config.redaction.rules],
        )
    except ValueError as error:
        raise ConfigError(f"redaction.rules: {error}", hint="patterns are RE2's") from error


def _refuse_missing(config: Config) -> None:
    """A setting that this version cannot keep is an error, never silently something else."""
    missing = {
        "escalation.enabled": config.escalation.enabled,
        "hub.enabled: true": config.hub.enabled is True,
        "runner.memory.trace_store: postgres": config.runner.memory.trace_store == "postgres",
        "workspace.driver: overlay": config.workspace.driver == "overlay",
        "workspace.require_isolation": config.workspace.require_isolation > 0,
    }
    for key, wanted in missing.items():
        if wanted:
            raise ConfigError(
                f"{key} asks for what this version does not have", hint="leave it at its default"
            )


def connect_model(caller: Caller, config: Config) -> Model:
    """The configured model. Raises ModelError; never falls through to another one."""
    return open_model(config.model, cache=caller.folders.cache, api_key=_key(caller))


def model_status(caller: Caller, config: Config) -> Status:
    """Whether the configured model could be asked now. Starts nothing. Raises ConfigError."""
    return status(config.model, cache=caller.folders.cache, api_key=_key(caller))


def _key(caller: Caller) -> str | None:
    user = caller.folders.config_file
    return api_key(caller.environ, user if lexists(user) else None)


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What `analyze` is asked for; `changed` is a revision, empty for HEAD, None for no matter."""

    paths: tuple[Path, ...] = ()
    operations: tuple[str, ...] = ()
    node: str | None = None
    changed: str | None = None
    max_nodes: int | None = None
    yes: bool = False
    concurrency: int | None = None
    unsafe_fixes: bool = False
    max_turns: int | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A planned run and the base it would work on; `close` lets go of the base."""

    project: Project
    run_id: str
    plan: Plan
    base: Base
    agents: tuple[Agent, ...]
    events_file: Path

    def close(self) -> None:
        """Remove the frozen copy."""
        _remove(self.base.folder)


def prepare(caller: Caller, wish: Wish, project: Project | None = None) -> Prepared:
    """Take the base and plan the run; no model is needed, nothing of the project is run.

    `project` is what `open_project(caller, wish.paths)` gave, where that was called before.
    """
    project = project or open_project(caller, wish.paths)
    agents = _agents(project.root, wish.operations or DEFAULT_OPERATIONS)
    run_id = new_run_id()
    config = project.config
    remove_leftovers(project, utc_now())
    # the base is all of the project: `exclude` only says what agents leave alone
    files = project_files(project.root, include=config.workspace.include)
    base = take_base(project.root, files, project.cache / "bases" / run_id)
    try:
        paths = tuple(_relative(project.root, path, caller.folder) for path in wish.paths)
        selection = Selection(paths=paths, node=wish.node, max_nodes=wish.max_nodes)
        # a file that could not be copied is looked for all the same, so that it is told of
        looked_for = sorted({*base.files, *_still_there(project.root, files.paths)})
        source = read_modules(base.folder, _included(looked_for, config.exclude), selection)
        if wish.changed is not None:
            changed = changed_nodes(project.root, base.folder, wish.changed or "HEAD", source)
            selection = Selection(
                paths=paths, node=wish.node, max_nodes=wish.max_nodes, changed=changed
            )
        plan = make_plan(run_id, base.folder, source, agents, selection)
    except BaseException:
        _remove(base.folder)
        raise
    return Prepared(
        project=project,
        run_id=run_id,
        plan=plan,
        base=base,
        agents=agents,
        events_file=caller.folders.cache / "events.jsonl",
    )


def _agents(root: Path, operations: Sequence[str]) -> tuple[Agent, ...]:
    try:
        known = load_agents(root, operations)
    except NotFound as error:
        raise UsageError(error.message, hint=error.hint) from error
    named = [agent_named(known, name) for name in operations]
    return tuple({agent.definition.operation: agent for agent in named}.values())


def too_many(plan: Plan, wish: Wish) -> bool:
    """Whether somebody should say so before this many jobs are run."""
    return len(plan.jobs) > MAX_JOBS and wish.max_nodes is None and not wish.yes


def connect_own_models(caller: Caller, prepared: Prepared, model: Model) -> dict[str, Model]:
    """By operation, the models that agents name for themselves where it is not `model`.

    They are asked of the configured server. Raises ModelError, ConfigError.
    """
    own: dict[str, Model] = {}
    for agent in prepared.agents:
        name = agent.definition.model
        if name is not None and name != model.name:
            settings = prepared.project.config.model.model_copy(update={"name": name})
            folder = caller.folders.cache
            own[agent.definition.operation] = open_model(
                settings, cache=folder, api_key=_key(caller)
            )
    return own


async def carry_out(
    prepared: Prepared,
    model: Model,
    wish: Wish,
    watcher: Watcher,
    clock: Callable[[], datetime],
    own: Mapping[str, Model] | None = None,
) -> None:
    """Run the plan to its end; agents of the operations in `own` ask that model instead.

    Raises ModelError if a model cannot answer as configured.
    """
    project = prepared.project
    models = {agent.definition.operation: model for agent in prepared.agents} | dict(own or {})
    asking = {
        agent.definition.operation: _asking(
            project.config, agent, models[agent.definition.operation], wish
        )
        for agent in prepared.agents
    }
    run = Run(
        run_id=prepared.run_id,
        project=project,
        plan=prepared.plan,
        base=prepared.base,
        slots=SlotDriver(prepared.base, project.cache / "slots"),
        agents={agent.definition.operation: agent for agent in prepared.agents},
        model=lambda agent: models[agent.definition.operation],
        engine=LocalEngine(wish.concurrency or project.config.model.max_concurrency),
        facts=NoHub(),
        clock=clock,
        asking=lambda agent: asking[agent.definition.operation],
        max_turns=lambda agent: _max_turns(project.config, agent, wish),
        options={"unsafe_fixes": wish.unsafe_fixes},
        settings={**project.config.model_dump(mode="json"), **_settings(model, wish)},
        watcher=watcher,
        listeners=(GlobalLog(prepared.events_file),)
        if project.config.runner.memory.global_events
        else (),
    )
    await execute(run)


def new_run_id() -> str:
    """Sorts by time, and is unlike any other: `20260131-093000-1f2e3d`."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def _asking(config: Config, agent: Agent, model: Model, wish: Wish) -> Asking:
    memory = config.runner.memory
    renderer: str = "lines" if config.model.renderer == "auto" else config.model.renderer
    limit = memory.packet_size_limit
    if model.describe().get("provider") == "embedded":
        limit = min(limit, EMBEDDED_LIMIT)
    if not memory.enabled:  # for comparisons: as much raw history as the server takes
        renderer, limit = "history", model.context or limit
    if model.context is not None:
        limit = min(limit, model.context - ANSWER_TOKENS)
    has_candidates = agent.candidates is not None
    return Asking(
        renderer=f"{renderer}/1",
        strategy=strategy_for(
            model, renderer, config.model.decoding, has_candidates=has_candidates
        ),
        limit=limit,
        margin=config.model.margin,
        seed=wish.seed if wish.seed is not None else 0,
        exact=config.model.exact,
    )


def _max_turns(config: Config, agent: Agent, wish: Wish) -> int:
    """The flag, else the configured operation, else the definition, else the runner's."""
    operation = config.operations.get(agent.definition.operation)
    configured = operation.max_turns if operation is not None else None
    return wish.max_turns or configured or agent.definition.max_turns or config.runner.max_turns


def _settings(model: Model, wish: Wish) -> dict[str, Any]:
    return {
        "model_name": model.name,
        "unsafe_fixes": wish.unsafe_fixes,
        "seed": wish.seed,
        "max_turns": wish.max_turns,
    }


def _relative(root: Path, path: Path, folder: Path) -> str:
    absolute = Path(realpath(folder / path))
    if not absolute.is_relative_to(root):
        raise UsageError(
            f"{path} lies outside the project {root}", hint="--root names another project"
        )
    if not absolute.exists():
        raise UsageError(f"{path} does not exist", hint="name a file or folder of the project")
    return absolute.relative_to(root).as_posix()


def _still_there(root: Path, paths: Iterable[str]) -> list[str]:
    """Files that are there; links and what tools leave behind have no place in a base."""
    return [
        path
        for path in paths
        if (root / path).is_file() and not (root / path).is_symlink() and not is_junk(path)
    ]


def _included(paths: Iterable[str], exclude: Sequence[str]) -> list[str]:
    rules = IgnoreRules()
    rules.add("", "\n".join(exclude))
    return [path for path in paths if not rules.cover(path)]


def _remove(folder: Path) -> None:
    with suppress(OSError):
        shutil.rmtree(folder)
