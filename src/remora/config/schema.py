"""What can be configured: one frozen record with the meaning of every key under it."""

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictStr

MOST = 1_000_000
"""The largest count: what is set is recorded, and other programs are told of it."""
Count = Annotated[int, Field(ge=0, le=MOST)]
Positive = Annotated[int, Field(ge=1, le=MOST)]
Seconds = Annotated[float, Field(gt=0)]
# lists come from YAML and JSON; a frozen record holds tuples
Patterns = Annotated[tuple[StrictStr, ...], Field(strict=False)]


def _address(value: str) -> str:
    """An HTTP address without credentials: addresses are recorded in streams."""
    try:
        parts = urlsplit(value)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not value.isprintable() or " " in value:
        raise ValueError("an address such as http://127.0.0.1:8080/v1")
    if "@" in value:
        raise ValueError("an address without a user name or password")
    return value


def _model_name(value: str) -> str:
    if "://" in value:
        raise ValueError("a model's name (an address belongs in base_url)")
    if not value.isprintable():
        raise ValueError("a model's name in printable characters")
    return value


Address = Annotated[str, AfterValidator(_address)]
ModelName = Annotated[str, Field(min_length=1), AfterValidator(_model_name)]
OperationName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,50}$")]


class Section(BaseModel):
    """A mapping of known keys, frozen once read."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class RetentionConfig(Section):
    """What `remora trace compact` does with what is old. Nothing is done without that command, and
    never to a run that goes on, can be resumed or waits for a verdict."""

    keep_days: Count | None = 30
    """Days after a run's last event after which its streams expire; null: never."""
    compress_after_days: Count | None = 2
    """Days after a run's last event after which its streams are sealed; null: never."""
    keep_mb: Count | None = None
    """The most MiB of streams and contents: the oldest runs expire until it fits; null: no limit."""


class MemoryConfig(Section):
    """The Decision Packet and the stream behind it."""

    enabled: bool = True
    """Send the packet; false sends the raw history, for comparisons only."""
    packet_size_limit: Annotated[int, Field(ge=100, le=1_000_000)] = 3000
    """The most tokens of a whole request; the embedded model takes at most 600."""
    trace_store: Literal["jsonl", "kv", "postgres"] = "kv"
    """Where streams live: jsonl (files alone) or kv (files, and an index that can be deleted).
    postgres is not in this version."""
    summarizer_mode: Literal["tool_side", "tool_specific", "default"] = "tool_specific"
    """Who summarizes a tool's output: tool_side, tool_specific or default."""
    trace_indexing: Annotated[
        tuple[Literal["node", "run", "operation"], ...], Field(strict=False)
    ] = ("node", "run", "operation")
    """What the index can be asked by."""
    durability: Literal["event", "turn", "none"] = "turn"
    """When a stream is synced to disk: after each event, at turn ends, or never."""
    global_events: bool = False
    """Write every event to events.jsonl in the user's cache too. Not in a project's file."""
    signing_key_file: Annotated[str, Field(min_length=1)] | None = None
    """A file of mode 0600 with a key of at least 16 characters, which signs the anchors of new runs
    (REMORA_SIGNING_KEY holds the key itself). Not in a project's file."""
    retention: RetentionConfig = RetentionConfig()
    """How long streams stay."""


class RunnerConfig(Section):
    """How an agent works through its turns."""

    max_turns: Positive = 12
    """The most turns of one agent."""
    memory: MemoryConfig = MemoryConfig()
    """The Decision Packet and the stream behind it."""


class ModelConfig(Section):
    """The model that decides."""

    provider: Literal["auto", "openai", "embedded"] = "auto"
    """auto: the configured address, else the embedded model; openai: the address only."""
    base_url: Address | None = None
    """Address of an OpenAI-compatible server. In a project's file: this machine's only."""
    name: ModelName | None = None
    """The model's name on that server; null takes the one it serves."""
    renderer: Literal["auto", "lines", "json", "functiongemma"] = "auto"
    """How the packet becomes text."""
    decoding: Literal["auto", "rank", "grammar", "tool_call"] = "auto"
    """How an answer is taken: ranked candidates, a grammar, or the server's own tool calls."""
    margin: Annotated[float, Field(ge=0)] = 1.0
    """Distance in nat between the two best candidates below which the first candidate is taken."""
    exact: bool = False
    """Repeat runs exactly: no prompt cache, one request at a time."""
    timeout_s: Seconds = 60.0
    """Seconds to wait for one answer; five times as long for the embedded model's."""
    retries: Count = 4
    """How often a request is tried again when the server is busy or gone."""
    max_concurrency: Annotated[int, Field(ge=1, le=256)] = 2
    """The most requests at a time."""


class EscalationConfig(Section):
    """A larger model that is asked when the first one cannot decide (not in this version)."""

    enabled: bool = False
    """Ask it (not in this version). A project's file may say so only for this machine's address."""
    base_url: Address | None = None
    """Its address. In a project's file: this machine's only."""
    name: ModelName | None = None
    """Its name on that server."""


class HubConfig(Section):
    """Facts about the code that surrounds a node, and the daemon that keeps them."""

    enabled: Literal["auto"] | bool = "auto"
    """auto asks a running daemon, else looks itself; true asks for a running daemon: without one
    nothing is begun; false never asks."""
    sweep_seconds: Positive = 30
    """Seconds between two looks at all files, beside what the system tells of changes."""
    idle_stop_minutes: Count = 0
    """Minutes without a question after which the daemon stops; 0: never."""
    memory_mb: Annotated[int, Field(ge=16, le=MOST)] = 512
    """The most memory of the daemon, in MiB; beyond it, it begins anew."""
    max_file_mb: Annotated[int, Field(ge=1, le=64)] = 1
    """Maximum size of a source file, in MiB; larger files are skipped."""

    @property
    def file_limit(self) -> int:
        """Maximum size of a source file, in bytes."""
        return self.max_file_mb * 1024**2


class WorkspaceConfig(Section):
    """The private copies that agents work on."""

    driver: Literal["auto", "slot", "overlay"] = "auto"
    """How a copy is made: slot (copied files; works everywhere) or overlay (a layer in memory over one
    frozen copy; Linux with user namespaces). Where overlay does not work nothing is started, and
    `remora doctor` tells why. auto is slot."""
    require_isolation: Annotated[int, Field(ge=0, le=3)] = 0
    """The least isolation of subprocesses, 0 to 3: on a machine that gives less nothing is started.
    `remora doctor` tells what it gives. A project's file can only raise the user's."""
    allow_unsandboxed: bool = False
    """Consent to run the project's code where its isolation is below level 2. True is not for a
    project's file."""
    include: Patterns = ()
    """Globs of ignored files that a copy needs all the same; never .env files."""


class RedactionRule(Section):
    """What else is a secret."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    """Stands in the placeholder: `<secret:NAME:FINGERPRINT>`."""
    pattern: Annotated[str, Field(min_length=1, max_length=1000)]
    """A regular expression of RE2; of a group named `secret`, else the first one, only that."""


class RedactionConfig(Section):
    """What never enters a stream, beside the credentials and environment variables known anyway."""

    rules: Annotated[tuple[RedactionRule, ...], Field(strict=False)] = ()
    """Rules of your own, such as [{name: badge, pattern: "B-[0-9]{8}"}]; patterns are RE2's."""


class OperationConfig(Section):
    """Settings of one operation."""

    max_turns: Positive | None = None
    """The most turns of an agent of this operation; null takes runner.max_turns."""
    style: Literal["google", "numpy", "rest"] | None = None
    """How the docstring operation writes docstrings; null goes by what the project's look like."""


def _or_empty(value: object) -> object:
    """`lint:` with nothing after it means `lint: {}`."""
    return {} if value is None else value


Operation = Annotated[OperationConfig, BeforeValidator(_or_empty)]


class Config(Section):
    """Everything that can be configured, after all layers. Holds no secret: it is recorded."""

    runner: RunnerConfig = RunnerConfig()
    """How an agent works through its turns."""
    model: ModelConfig = ModelConfig()
    """The model that decides. Its key comes from REMORA_API_KEY or OPENAI_API_KEY."""
    escalation: EscalationConfig = EscalationConfig()
    """A larger model that is asked when the first one cannot decide (not in this version)."""
    hub: HubConfig = HubConfig()
    """Facts about the code that surrounds a node, and the daemon that keeps them."""
    redaction: RedactionConfig = RedactionConfig()
    """What never enters a stream, beside the credentials and environment variables known anyway."""
    workspace: WorkspaceConfig = WorkspaceConfig()
    """The private copies that agents work on."""
    python: Annotated[str, Field(min_length=1)] | None = None
    """Interpreter for the project's tests, which `-o test` and `remora hub observe` run; null takes
    the root's .venv, else the active one."""
    exclude: Patterns = ()
    """Globs of files, relative to the root, that are left alone."""
    operations: dict[OperationName, Operation] = {
        "lint": OperationConfig(),
        "docstring": OperationConfig(),
        "test": OperationConfig(),
    }
    """Settings by operation; each takes max_turns, which overrides runner.max_turns, and docstring
    takes style (google, numpy or rest). Built in are lint, docstring and test."""


def config_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a configuration file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Config.model_json_schema(),
    }
