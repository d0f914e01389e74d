"""From who asks to the project and the model that the configuration names."""

from collections.abc import Sequence
from os.path import lexists
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remora.bootstrap.invocation import Caller, is_configured, open_config
from remora.errors import ConfigError
from remora.runs.project import Project, RecordedProject, root_name
from remora.trace.trace_folder import TraceFolder

if TYPE_CHECKING:  # a command that only reads records loads none of these
    from remora.config.schema import Config
    from remora.models.protocol import Model
    from remora.models.provider import ModelStatus
    from remora.sandbox.interpreters import ProjectPython
    from remora.trace.redact.redactor import Redactor


def open_records(caller: Caller) -> Project:
    """Return the project here for a command that reads records. Raises as `open_project` does.

    Where nothing is configured, the defaults are loaded only if something asks for them.
    """
    root = caller.find_root()
    if is_configured(caller, root):
        return open_project(caller)
    trace = TraceFolder(root)
    trace.check()
    state = caller.folders.state / "roots" / root_name(root)
    return RecordedProject(root, caller.operations, trace, state, lambda: open_project(caller))


def open_project(caller: Caller, paths: Sequence[Path] = ()) -> Project:
    """The project around the given targets. Raises UsageError, ConfigError, DiskError.

    No agent is loaded: a wrong definition is in nobody's way who only looks back or decides.
    """
    from remora.runs.provenance import install_key
    from remora.sandbox.isolation import require_level
    from remora.trace.verify.head_signatures import load_signer

    root = caller.find_root(paths)
    config = open_config(caller, root)
    _refuse_missing(config)
    require_level(config.workspace.require_isolation)
    trace = TraceFolder(root)
    trace.check()
    name = root_name(root)
    key = install_key(caller.folders.state)
    return Project(
        root=root,
        config=config,
        operations=caller.operations,
        trace=trace,
        cache=caller.folders.cache / "roots" / name,
        state=caller.folders.state / "roots" / name,
        install_key=key,
        redact=_redactor(caller, config, key),
        signer=load_signer(caller.environ, config.runner.memory.signing_key_file),
        interpreter=lambda: _interpreter(caller, root, config),
    )


def _interpreter(caller: Caller, root: Path, config: "Config") -> "ProjectPython":
    from remora.bootstrap.test_interpreter import interpreter_for

    return interpreter_for(caller, root, config)


def _redactor(caller: Caller, config: "Config", key: bytes) -> "Redactor":
    """Fingerprints are this installation's: nobody can try out guesses on a stream."""
    import hmac

    from remora.trace.redact.redactor import Redactor
    from remora.trace.redact.rule import OwnRule

    environ = dict(caller.environ)
    in_user_file = _keys(caller).get("user")
    if in_user_file is not None:
        taken = environ.get("REMORA_API_KEY", "").strip()
        environ["MODEL_API_KEY" if taken else "REMORA_API_KEY"] = in_user_file
    try:
        return Redactor(
            hmac.digest(key, b"redaction", "sha256"),
            environ=environ,
            own=[OwnRule(name=rule.name, pattern=rule.pattern) for rule in config.redaction.rules],
        )
    except ValueError as error:
        raise ConfigError(f"redaction.rules: {error}", hint="patterns are RE2's") from error


def _refuse_missing(config: "Config") -> None:
    """A setting that this version cannot keep is an error, never silently something else."""
    missing = {
        "escalation.enabled": config.escalation.enabled,
        "runner.memory.trace_store: postgres": config.runner.memory.trace_store == "postgres",
    }
    for key, wanted in missing.items():
        if wanted:
            raise ConfigError(
                f"{key} asks for what this version does not have", hint="leave it at its default"
            )


def model_flags(model: str | None) -> dict[str, Any]:
    """What `--model` overrides in the configuration. A model with `://` is an address."""
    if model is not None and "://" in model:
        return {"model.base_url": model, "model.provider": "openai"}
    return {"model.name": model}


def connect_model(caller: Caller, config: "Config") -> "Model":
    """The configured model. Raises ModelError; never falls through to another one."""
    from remora.models.provider import open_model

    key = model_key(caller, config)
    return open_model(config.model, cache=caller.folders.cache, api_key=key)


def model_status(caller: Caller, config: "Config") -> "ModelStatus":
    """Whether the configured model could be asked now. Starts nothing. Raises ConfigError."""
    from remora.models.provider import check_model

    key = model_key(caller, config)
    return check_model(config.model, cache=caller.folders.cache, api_key=key)


def model_key(caller: Caller, config: "Config") -> str | None:
    """Return the key that may go to the configured address: never one to a project's address."""
    from remora.config.loading import api_key

    return api_key(_keys(caller), config.layer_of("model", "base_url"))


def withheld_key(caller: Caller, config: "Config") -> str:
    """Return why a key that is set is not sent to the configured address, else an empty text."""
    from remora.config.loading import why_no_key

    if config.model.base_url is None or config.model.provider == "embedded":
        return ""
    return why_no_key(_keys(caller), config.layer_of("model", "base_url"))


def _keys(caller: Caller) -> dict[str, str]:
    from remora.config.loading import api_keys

    user = caller.folders.config_file
    return api_keys(caller.environ, user if lexists(user) else None)
