"""Opens the project and the model that are selected by the configuration."""

import os
import resource
from collections.abc import Mapping, Sequence
from os.path import lexists
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remora.bootstrap.invocation import Invocation, is_configured, open_config
from remora.bootstrap.open_trace import open_trace, open_trace_folder
from remora.bootstrap.operations import BUILT_IN
from remora.errors import ConfigError, ModelError, OutsideError, UsageError
from remora.runs.project import Project, ProjectRecords, root_name

if TYPE_CHECKING:  # a command that only reads records loads none of these
    from remora.config.schema import Config
    from remora.models.protocol import Model
    from remora.models.provider import ModelStatus
    from remora.operations.base import Operations
    from remora.sandbox.interpreters import ProjectPython
    from remora.trace.redact.redactor import Redactor

_BASE_BYTES, _THREAD_BYTES = 512 << 20, 80 << 20
"""Address space without threads, and of one: a stack of 8 MiB and an allocator's arena of 64 MiB.

Measured peaks of `check` and `analyze` on two cores, with six threads, are 807 and 741 MB.
"""


def open_records(invocation: Invocation) -> ProjectRecords:
    """Return the current project for a command that reads records.

    The configuration is not loaded, so records can be read even if it is invalid. Raises UsageError or DiskError.
    """
    invocation.check_config_file()
    root = invocation.find_root()
    trace = open_trace_folder(invocation, root)
    state = invocation.state_of(root)
    return ProjectRecords(root=root, operations=invocation.operations, trace=trace, state=state)


def open_project(invocation: Invocation, paths: Sequence[Path] = ()) -> Project:
    """Return the project that contains `paths`.

    Agents are not loaded, because an invalid definition must not block commands that only read or
    review. Raises UsageError, ConfigError or DiskError, and OutsideError if there is too little memory.
    """
    from remora.runs.provenance import install_key
    from remora.sandbox.isolation import require_level

    _require_address_space()
    root = invocation.find_root(paths)
    config = open_config(invocation, root)
    require_level(config.workspace.require_isolation)
    trace = open_trace(invocation, root, config)
    key = install_key(invocation.folders.state)
    return Project(
        root=root,
        config=config,
        operations=_operations(invocation, root, config),
        trace=trace.folder,
        open_store=trace.open_store,
        cache=invocation.folders.cache / "roots" / root_name(root),
        state=invocation.state_of(root),
        install_key=key,
        redact=_redactor(invocation, config, key),
        interpreter=lambda: _interpreter(invocation, root, config),
    )


def open_with(
    root: str | Path | Project | None,
    flags: Mapping[str, Any] | None = None,
    known: "Operations | None" = None,
    paths: Sequence[Path] = (),
) -> tuple[Invocation, Project]:
    """Open the project, and finish or undo an interrupted accept.

    If `root` is a Project, it is used unchanged unless `flags` or `known` require other settings.
    """
    from remora.runs.review.journals import recover

    invocation = invocation_for(root, flags, known)
    same = known is None and all(value is None for value in (flags or {}).values())
    project = root if same and isinstance(root, Project) else open_project(invocation, paths)
    recover(project)
    return invocation, project


def invocation_for(
    root: str | Path | Project | None,
    flags: Mapping[str, Any] | None = None,
    known: "Operations | None" = None,
) -> Invocation:
    """Return the invocation of this process. If `root` is a Project, use its operations."""
    if isinstance(root, Project):
        known, root = known or root.operations, root.root
    try:
        folder = Path.cwd()
    except FileNotFoundError:
        if root is None or not Path(root).is_absolute():
            raise UsageError("the current directory no longer exists", hint="pass `root`") from None
        folder = Path(root)
    return Invocation(
        environ=os.environ,
        folder=folder,
        root=None if root is None else Path(root),
        flags=flags or {},
        operations=known or BUILT_IN,
    )


def _require_address_space() -> None:
    """Raise OutsideError if a limit (`ulimit -v`) leaves too little address space for threads.

    Without this check, threads and libraries fail at places that depend on chance.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    threads = min(32, (os.cpu_count() or 1) + 4)  # as many as `asyncio.to_thread` may start
    needed = _BASE_BYTES + threads * _THREAD_BYTES
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise OutsideError(
            f"not enough memory: the limit is {limit >> 20} MiB of address space, "
            f"and Remora needs {needed >> 20} MiB on this machine",
            hint=f"raise the limit, for example with `ulimit -v {needed >> 10}`",
        )


def open_operations(invocation: Invocation, root: Path) -> "Operations":
    """Return the operations, without those that the user lets agents of the project replace."""
    if not is_configured(invocation, root):
        return invocation.operations
    return _operations(invocation, root, open_config(invocation, root))


def _operations(invocation: Invocation, root: Path, config: "Config") -> "Operations":
    if not config.agents.replace:
        return invocation.operations
    from remora.agents.definition.agent import with_replaced  # imports what runs scripts

    return with_replaced(root, invocation.operations, config.agents.replace)


def _interpreter(invocation: Invocation, root: Path, config: "Config") -> "ProjectPython":
    from remora.bootstrap.project_interpreter import interpreter_for

    return interpreter_for(invocation, root, config)


def _redactor(invocation: Invocation, config: "Config", key: bytes) -> "Redactor":
    """Return the redactor for the configured rules.

    Fingerprints depend on this installation's key. Without the key, a stream cannot be used to
    check guesses of a secret.
    """
    import hmac

    from remora.config.user_folders import KEY_VARIABLES
    from remora.trace.redact.redactor import Redactor
    from remora.trace.redact.rule import UserRule

    environ = dict(invocation.environ)
    sections = KEY_VARIABLES if lexists(invocation.folders.config_file) else {}
    for section, (variable, *_) in sections.items():
        in_user_file = _keys(invocation, section).get("user")
        if in_user_file is not None:
            name = variable
            while name in environ:
                name += "_"
            environ[name] = in_user_file
    if config.postgres.dsn is not None:
        environ["REMORA_POSTGRES__DSN"] = config.postgres.dsn
    try:
        return Redactor(
            hmac.digest(key, b"redaction", "sha256"),
            environ=environ,
            own=[UserRule(name=rule.name, pattern=rule.pattern) for rule in config.redaction.rules],
        )
    except ValueError as error:
        raise ConfigError(f"redaction.rules: {error}", hint="patterns use RE2 syntax") from error


def connect_model(
    invocation: Invocation, config: "Config", name: str | None = None, *, by_project: bool = False
) -> "Model":
    """Return the configured model, or another one of its server by name.

    `by_project` is True if an agent of the project names it. Raises ModelError if the model is not
    available, and ConfigError if the project chooses its address or model and the user has not
    agreed. There is no fallback to another model.
    """
    from remora.models.agreed_addresses import require_agreed
    from remora.models.provider import open_model

    require_agreed(config, name, by_project=by_project)
    return open_model(
        config.model if name is None else config.model.model_copy(update={"name": name}),
        cache=invocation.folders.cache,
        api_key=key_for(invocation, config, "model"),
        set_by=config.layer_of("model", "base_url"),
    )


def connect_helpers(invocation: Invocation, config: "Config", model: "Model") -> "dict[str, Model]":
    """Return the models that help `model`, keyed by their role.

    Only the larger model helps, if it is enabled. Raises ModelError if it is not available, and
    ConfigError if the project chooses its address and the user has not agreed.
    """
    from remora.models.agreed_addresses import require_agreed
    from remora.models.protocol import NoModel
    from remora.models.provider import open_larger
    from remora.runs.execution.run import LARGER

    if isinstance(model, NoModel):
        return {}
    require_agreed(config, model.name)
    if not config.escalation.enabled:
        return {}
    larger = open_larger(
        config.escalation,
        config.model,
        api_key=key_for(invocation, config, "escalation"),
        set_by=config.layer_of("escalation", "base_url"),
    )
    return {LARGER: larger}


def model_status(invocation: Invocation, config: "Config") -> "ModelStatus":
    """Return the status of the configured model without starting a server.

    Raises ConfigError if the configuration is invalid, or if the project chooses the address and
    the user has not agreed.
    """
    from msgspec.structs import replace

    from remora.models.agreed_addresses import require_agreed
    from remora.models.protocol import Capabilities
    from remora.models.provider import check_model
    from remora.runs.execution.agent_settings import configured_strategy

    require_agreed(config)
    found = check_model(
        config.model,
        cache=invocation.folders.cache,
        api_key=key_for(invocation, config, "model"),
        set_by=config.layer_of("model", "base_url"),
    )
    if found.problem is not None:
        return replace(found, document={**found.document, "strategy": None})
    able = Capabilities(**found.document["capabilities"])
    try:
        strategy = configured_strategy(config, found.document["name"], able)
    except ModelError as problem:
        return replace(found, document={**found.document, "strategy": None}, problem=problem)
    return replace(found, document={**found.document, "strategy": strategy})


def withheld_key(invocation: Invocation, config: "Config") -> str:
    """Return the reason why a configured key is not sent, or an empty string if the key is sent."""
    from remora.config.loading import why_no_key

    if config.model.base_url is None or config.model.provider == "embedded":
        return ""
    return why_no_key(_keys(invocation, "model"), config.layer_of("model", "base_url"))


def key_for(invocation: Invocation, config: "Config", section: str) -> str | None:
    """Return the API key for the address in `section`, or None if there is no key.

    No key is returned for an address that is set by the project's configuration.
    """
    from remora.config.loading import api_key

    return api_key(_keys(invocation, section), config.layer_of(section, "base_url"))


def _keys(invocation: Invocation, section: str) -> dict[str, str]:
    from remora.config.loading import api_keys

    user = invocation.folders.config_file
    return api_keys(invocation.environ, user if lexists(user) else None, section)
