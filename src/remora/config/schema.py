"""Configuration schema, which consists of frozen models with a description under each key."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializeAsAny,
    StrictStr,
    ValidationInfo,
)

from remora.statuses import NO_MODEL

MAX_COUNT = 1_000_000
"""Largest count that a setting accepts; settings are recorded and passed to other programs."""
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Positive = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Seconds = Annotated[float, Field(gt=0)]
# lists come from YAML and JSON; a frozen record holds tuples
Patterns = Annotated[tuple[StrictStr, ...], Field(strict=False)]


def _address(value: str) -> str:
    """Validate that `value` is an HTTP address without credentials.

    Credentials are rejected because addresses are recorded in streams.
    """
    try:
        parts = urlsplit(value)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not value.isprintable() or " " in value:
        raise ValueError("expected an address such as http://127.0.0.1:8080/v1")
    if "@" in value:
        raise ValueError("expected an address without a user name or password")
    return value


def _model_name(value: str) -> str:
    if "://" in value:
        raise ValueError("expected a model name (set an address in base_url instead)")
    if not value.isprintable():
        raise ValueError("expected a model name of printable characters")
    return value


Address = Annotated[str, AfterValidator(_address)]
ModelName = Annotated[str, Field(min_length=1), AfterValidator(_model_name)]
OperationName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,50}$")]


class Section(BaseModel):
    """A frozen mapping with a fixed set of keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True
    )


class RetentionConfig(Section):
    """Ages from which runs are compressed and deleted, but for runs that are running, resumable or
    unreviewed.
    """

    keep_days: Count | None = 30
    """Days for which `remora clean` keeps backups, and `remora database prune` runs. null means
    always. A project's file can only raise it.
    """
    compress_after_days: Count | None = 2
    """Days after a run's last event from which `remora clean` compresses its streams. null means
    never.
    """


class MemoryConfig(Section):
    """The decision packet and its event stream."""

    mode: Literal["packets", "masked", "raw"] = "packets"
    """What is sent to the model. packets sends the packet. raw sends a chat with all results, and
    masked a chat with the last two results and older ones in one line; both are only useful for
    comparisons.
    """
    enabled: Annotated[bool | None, Field(exclude=True)] = None
    """Always on; false means `mode: raw`."""
    trace_indexing: Annotated[
        tuple[Literal["node", "run", "operation"], ...] | None, Field(strict=False, exclude=True)
    ] = None
    """Always on."""
    packet_size_limit: Annotated[int, Field(ge=100, le=1_000_000)] | Literal["auto"] = "auto"
    """Maximum tokens per request; at most 600 for the embedded model. auto means half of the
    server's context, at most 8000, or 3000 if the server does not report it.
    """
    trace_store: Literal["kv", "postgres"] = "kv"
    """Storage of streams. kv uses files in .agentfs. postgres uses the database of the section
    postgres, and files only as copies; in a project's file, only if you have set postgres.dsn.
    """
    summarizer_mode: Literal["tool_side", "tool_specific", "default"] = "tool_specific"
    """Source of tool output summaries. tool_specific uses the summarizers in the agent's
    definition, tool_side uses the summary from each tool, and default uses the default summarizer.
    """
    durability: Literal["event", "turn", "none"] = "turn"
    """Sync streams to disk after each event, after each turn, or never (none). A project's file
    cannot weaken the user's value."""
    retention: RetentionConfig = RetentionConfig.model_construct()
    """Limits on how long streams are kept."""


class PostgresConfig(Section):
    """The PostgreSQL database that stores streams with `trace_store: postgres`."""

    dsn: Annotated[StrictStr | None, Field(exclude=True, repr=False)] = None
    """Connection string, such as postgresql://remora@db.example.com/remora. null means libpq's own
    variables, such as PGHOST. It may contain a password, so it is never recorded. Not allowed in a
    project's file."""
    lease_s: Annotated[int, Field(ge=3, le=3600)] = 30
    """Seconds after which another process may continue the streams of a process that died."""


class RunnerConfig(Section):
    """Settings for the turns of an agent."""

    max_turns: Positive = 12
    """Maximum number of turns per agent."""
    decisions: Literal["rules", "model"] = "rules"
    """Who chooses the tool calls of agents that have rules for it: rules, or the model. A
    project's file cannot choose the model."""
    opening: bool = True
    """Before the model's turns, rules do what they are sure of."""
    memory: MemoryConfig = MemoryConfig.model_construct()
    """The decision packet and its event stream."""


def _or_none(schema: dict[str, Any]) -> None:
    """Accept `model: none` in editors."""
    schema["anyOf"] = [{"$ref": schema.pop("$ref")}, {"const": NO_MODEL}]


class ModelConfig(Section):
    """The model that makes decisions."""

    provider: Literal["auto", "openai", "embedded", "none"] = "auto"
    """Provider of the model. auto uses the server at base_url, or the embedded model if base_url is
    not set. openai uses only the server. embedded uses only the embedded model. none uses no model,
    so rules make all decisions.
    """
    base_url: Address | None = None
    """Address of an OpenAI-compatible server. In a project's file, the server must be on this
    machine, with the path /v1, and you are asked before anything is sent to it.
    """
    allow_addresses: Annotated[
        tuple[Address, ...],
        Field(strict=False),
        BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    ] = ()
    """Addresses that a project's file may choose, in addition to those that you agreed to in a
    terminal, such as http://127.0.0.1:8080/v1, or http://127.0.0.1:8080/v1#qwen3 if the project also
    names the model. Not allowed in a project's file.
    """
    name: ModelName | None = None
    """Name of the model on the server at base_url, or without one, in `remora model list`. null
    means the only model. If a project's file sets it, you are asked before anything is sent to it.
    """
    renderer: Literal["auto", "lines", "json", "functiongemma"] = "auto"
    """Format of the packet in the prompt. functiongemma uses FunctionGemma's own format over plain
    completions, or with `decoding: tool_call`, tool calls that the server renders and parses."""
    decoding: Literal["auto", "grammar", "tool_call", "json_schema", "text"] = "auto"
    """Method of obtaining a call: a grammar, the server's tool calls, a JSON Schema, or a call written
    as text. auto uses the first of these that the server supports."""
    asks: Literal["auto", "guided", "free"] = "auto"
    """What a model is asked. guided: to choose one of the suggestions and fill it in, which needs a
    server that follows a grammar or a JSON Schema. free: to call any tool. auto is guided for the
    embedded model."""
    exact: bool = False
    """Make runs repeatable by disabling the prompt cache and sending one request at a time."""
    timeout_s: Seconds = 60.0
    """Seconds until an answer begins, five times as many on this machine. It may pause for half of them."""
    retries: Count = 4
    """Maximum number of retries per request if the server is busy or unreachable."""
    max_concurrency: Annotated[int, Field(ge=1, le=256)] = 2
    """Maximum number of concurrent requests of a process to the server."""
    max_output_tokens: Positive | None = None
    """Maximum number of tokens of an answer, with the model's thinking. null means 200, or 1000 if it
    may contain code, and up to 4000 more for a model that thinks."""
    max_requests: Positive = 100
    """Maximum number of requests per job. After that, rules decide. A project's file can only lower
    it."""
    max_tokens: Positive = 200_000
    """Maximum number of prompt tokens per job. After that, rules decide. A project's file can only
    lower it."""


class EscalationConfig(Section):
    """A larger model, which decides after three invalid calls of `model`, a refused submission, or
    an error."""

    enabled: bool = False
    """Use the larger model. A project's file can enable this only for an address on this machine,
    and you are asked first."""
    base_url: Address | None = None
    """Address of the larger model's server. In a project's file, the server must be on this
    machine, with the path /v1, and you are asked before anything is sent to it.
    """
    name: ModelName | None = None
    """Name of the larger model on its server. If a project's file sets it, you are asked first."""


class HubConfig(Section):
    """The Node State Hub, which provides facts about the code around a function, and the daemon
    that updates them.
    """

    enabled: Literal["auto"] | bool = "auto"
    """Use the hub. auto uses a running daemon, and reads the files if there is none. true requires
    a running daemon. false disables the hub.
    """
    sweep_seconds: Positive = 30
    """Seconds between full scans, which supplement change notifications."""
    idle_stop_minutes: Count = 0
    """Stop the daemon after this many minutes without a query. 0 means never."""
    memory_mb: Annotated[int, Field(ge=16, le=MAX_COUNT)] = 512
    """Maximum memory usage of the daemon, in MiB. The daemon restarts if it uses more."""
    max_file_mb: Annotated[int, Field(ge=1, le=64)] = 1
    """Maximum size of a source file, in MiB. Larger files are skipped."""

    @property
    def file_limit(self) -> int:
        """Maximum size of a source file, in bytes."""
        return self.max_file_mb * 1024**2


class WorkspaceConfig(Section):
    """Private copies of the project for agents."""

    require_isolation: Annotated[int, Field(ge=0, le=3)] = 0
    """Minimum isolation level of subprocesses, from 0 to 3. Runs do not start on a machine with a
    lower level. `remora doctor` shows the machine's level. A project's file can only raise the
    user's value.
    """
    allow_unsandboxed: bool = False
    """Allow the project's code to run below isolation level 2. A project's file cannot set this to
    true."""
    include: Patterns = ()
    """Glob patterns for ignored files that are also copied. .env files are never copied."""


class GatesConfig(Section):
    """The project's own tests and checkers, which judge all proposals of a run together."""

    time_s: Annotated[float, Field(ge=0, le=MAX_COUNT)] = 300.0
    """Seconds that the gates of a run may take. 0 means none. A project's file can only lower the
    user's value."""
    static: bool = False
    """No gate runs code of the project."""


class ReviewConfig(Section):
    """Review of changes."""

    max_open_branches: Count = 3
    """Unmerged branches of Remora at which accept --pr makes no new one. 0 means no limit."""


class RedactionRule(Section):
    """A pattern for additional secrets."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    """Name shown in the placeholder, `<secret:NAME:FINGERPRINT>`."""
    pattern: Annotated[str, Field(min_length=1, max_length=1000)]
    """RE2 regular expression. If it has groups, only the group `secret` is replaced. If no group
    has this name, only the first group is replaced.
    """


class RedactionConfig(Section):
    """Secrets to keep out of streams, beside known credentials and environment variables."""

    rules: Annotated[tuple[RedactionRule, ...], Field(strict=False)] = ()
    """Additional rules, such as [{name: badge, pattern: "B-[0-9]{8}"}]. Patterns use RE2 syntax. A
    project's rules are added to yours."""


class AgentsConfig(Section):
    """Agents of projects."""

    replace: Annotated[tuple[OperationName, ...], Field(strict=False)] = ()
    """Operations, such as [lint], whose built-in agent is replaced by a project's own agent of that
    operation, where a project has one. Not allowed in a project's file."""


class OperationConfig(Section):
    """Settings that every operation has.

    An operation with additional settings defines a subclass.
    """

    max_turns: Positive | None = None
    """Maximum number of turns for an agent of this operation. null means runner.max_turns."""


class _Entry(NamedTuple):
    """The settings of operation `name` before validation."""

    name: str
    value: object


def _with_names(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {name: _Entry(name, settings) for name, settings in value.items()}


def _validated(entry: _Entry, info: ValidationInfo) -> OperationConfig:
    """Validate an entry with the settings model of its operation.

    `lint:` without a value is equivalent to `lint: {}`.
    """
    models: Mapping[str, type[OperationConfig]] = info.context or {}
    if isinstance(entry.value, OperationConfig):
        return entry.value
    model = models.get(entry.name, OperationConfig)
    return model.model_validate({} if entry.value is None else entry.value)


_Operation = Annotated[SerializeAsAny[OperationConfig], BeforeValidator(_validated)]


class Config(Section):
    """The configuration merged from all layers. It is recorded, so it contains no secrets."""

    runner: RunnerConfig = RunnerConfig.model_construct()
    """Settings for the turns of an agent."""
    model: Annotated[ModelConfig, Field(json_schema_extra=_or_none)] = ModelConfig.model_construct()
    """The model that makes decisions; `none` uses rules only. Its API key comes from REMORA_API_KEY
    or OPENAI_API_KEY, and is never sent to an address that a project sets."""
    escalation: EscalationConfig = EscalationConfig.model_construct()
    """A larger model, which is asked if no answer of `model` passes the checks. Its API key comes
    from REMORA_ESCALATION_API_KEY, and is never sent to an address that a project sets."""
    agents: AgentsConfig = AgentsConfig.model_construct()
    """Agents of projects."""
    hub: HubConfig = HubConfig.model_construct()
    """The Node State Hub, which provides facts about the code around a function, and the daemon
    that updates them.
    """
    postgres: PostgresConfig = PostgresConfig.model_construct()
    """The PostgreSQL database that stores streams with `trace_store: postgres`."""
    redaction: RedactionConfig = RedactionConfig.model_construct()
    """Secrets to keep out of streams, beside known credentials and environment variables."""
    workspace: WorkspaceConfig = WorkspaceConfig.model_construct()
    """Private copies of the project for agents."""
    gates: GatesConfig = GatesConfig.model_construct()
    """The project's own tests and checkers, which judge all proposals of a run together."""
    review: ReviewConfig = ReviewConfig.model_construct()
    """Review of changes."""
    python: Annotated[str, Field(min_length=1)] | None = None
    """Python interpreter for the project's tests, used by `-o test` and gates. null
    means the project's .venv, or the active environment if there is no .venv.
    """
    exclude: Patterns = ()
    """Glob patterns for files to skip, relative to the project's root."""
    operations: Annotated[dict[OperationName, _Operation], BeforeValidator(_with_names)] = {}
    """Settings of each operation. An operation's max_turns overrides runner.max_turns."""
    _set_by: Mapping[tuple[str | int, ...], str] = PrivateAttr(default_factory=dict)

    def layer_of(self, *where: str) -> str | None:
        """Return the layer (user, project, environment or flag) that set a value, or None."""
        return self._set_by.get(where)

    @property
    def layers(self) -> Mapping[tuple[str | int, ...], str]:
        """The layer that set each value, keyed by path. Defaults are not included."""
        return self._set_by

    def record_layers(self, set_by: Mapping[tuple[str | int, ...], str]) -> "Config":
        """Record the layer that set each value of this new configuration, and return it."""
        self._set_by = set_by
        return self

    def __eq__(self, other: object) -> bool:
        """Return True if all values are equal, regardless of the layers that set them."""
        return isinstance(other, Config) and self.__dict__ == other.__dict__

    __hash__ = Section.__hash__


def default_config(operations: Mapping[str, type[OperationConfig]]) -> Config:
    """Return the defaults, with an entry for each operation. No validator is built: it is slow."""
    entries = {name: model.model_construct() for name, model in operations.items()}
    return Config.model_construct(operations=entries)
