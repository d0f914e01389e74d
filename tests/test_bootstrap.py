"""What configuration, flags and the model's own limits come to for an agent."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from remora.agents.decision.query_settings import (
    ANSWER_TOKENS,
    CODE_TOKENS,
    QuerySettings,
    answer_tokens,
)
from remora.agents.definition.agent import load_agents
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.bootstrap.operations import BUILT_IN
from remora.chat import ToolSchema
from remora.config.loading import load_config
from remora.errors import DiskError, UsageError
from remora.models.protocol import Model, NoModel
from remora.models.token_counters import UsageCounter
from remora.runs.execution.agent_settings import (
    LARGEST_LIMIT,
    SMALL_LIMIT,
    deciding,
    max_turns_for,
    query_settings_for,
)
from remora.runs.execution.run import RunRequest
from tests.scripted_model import ScriptedModel


class Small(ScriptedModel):
    """A model that says of itself what the embedded one does."""

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "provider": "embedded"}


def configured(**flags: Any) -> Any:
    dotted = {key.replace("__", "."): value for key, value in flags.items()}
    return load_config(
        user_file=None, project_file=None, environ={}, flags=dotted, operations=BUILT_IN.settings
    )[0]


def asked(model: ScriptedModel, wish: RunRequest | None = None, **flags: Any) -> QuerySettings:
    lint = load_agents(Path("/nowhere"), BUILT_IN)["lint"]
    return query_settings_for(configured(**flags), lint, model, wish or RunRequest())


class TestTheLimitOfARequest:
    def test_it_is_the_configured_one(self) -> None:
        assert asked(ScriptedModel([])).limit == 3000
        assert asked(ScriptedModel([])).most == LARGEST_LIMIT == 8000
        assert asked(ScriptedModel([]), runner__memory__packet_size_limit=700).limit == 700

    def test_the_embedded_model_takes_less(self) -> None:
        assert asked(Small([])).limit == SMALL_LIMIT == 600
        assert asked(Small([]), runner__memory__packet_size_limit=500).limit == 500

    def test_a_guided_one_is_as_small_and_has_three_bytes_a_token_until_a_server_counts(
        self,
    ) -> None:
        unknown = ScriptedModel([], counter=UsageCounter())
        assert asked(ScriptedModel([]), model__asks="guided").limit == SMALL_LIMIT
        assert asked(unknown, model__asks="guided").limit == SMALL_LIMIT * 3

    def test_the_answer_must_fit_into_the_models_context_too(self) -> None:
        model = ScriptedModel([])
        model.context = 1024
        assert asked(model, runner__memory__packet_size_limit=3000).limit == 1024 - 1024 // 3

    @pytest.mark.parametrize(("context", "limit"), [(512, 256), (4096, 2048), (32_768, 8000)])
    def test_by_itself_it_is_half_of_the_served_context(self, context: int, limit: int) -> None:
        model = ScriptedModel([])
        model.context = context
        found = asked(model)
        assert (found.limit, found.most) == (limit, context - found.answer_tokens)

    @pytest.mark.parametrize(("mode", "renderer"), [("raw", "history/1"), ("masked", "masked/1")])
    def test_a_chat_has_all_of_the_context(self, mode: str, renderer: str) -> None:
        model = Small([])
        model.context = 8192
        asking = asked(model, runner__memory__mode=mode)
        assert (asking.renderer, asking.limit) == (renderer, 8192 - CODE_TOKENS)


class TestTheLimitOfAnAnswer:
    def test_it_has_room_for_code_where_a_tool_takes_code(self) -> None:
        long = ToolSchema(name="edit", parameters={"properties": {"text": {"type": "string"}}})
        short = {"line": {"type": "integer"}, "code": {"type": "string", "maxLength": 20}}
        assert answer_tokens([long], None) == CODE_TOKENS == 1000
        assert (
            answer_tokens([ToolSchema(name="fix", parameters={"properties": short})], None) == 200
        )
        assert ANSWER_TOKENS == 200

    def test_it_is_a_third_of_a_small_context(self) -> None:
        assert answer_tokens([], 512) == 170


def test_a_model_is_asked_by_its_best_strategy() -> None:
    assert asked(ScriptedModel([])).strategy == "grammar"
    assert asked(ScriptedModel([]), model__decoding="tool_call").strategy == "tool_call"
    gemma = asked(ScriptedModel([]), model__renderer="functiongemma")
    assert (gemma.renderer, gemma.strategy) == ("functiongemma/3", "completion")


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", ScriptedModel([])), ("embedded", Small([])), ("none", NoModel())],
)
def test_a_plan_knows_who_decides(provider: str, model: Model) -> None:
    lint = load_agents(Path("/nowhere"), BUILT_IN, ["lint"])["lint"]
    for wanted, allowed in product(("rules", "model"), ("rules", "model", "free")):
        config = configured(runner__decisions=wanted)
        definition = lint.definition.model_copy(update={"decisions": allowed})
        with_rules = replace(lint, definition=definition)
        for agent in (with_rules, replace(with_rules, candidates=None)):
            used = query_settings_for(config, agent, model, RunRequest())
            planned = deciding(config, agent, provider)
            assert planned == used.decisions
            without_rules = agent.candidates is None
            may = {"openai": ("model", "free"), "embedded": ("model",)}  # which is guided
            is_models = allowed in may.get(provider, ())
            assert (used.decisions == "model") == (
                is_models and (wanted == "model" or without_rules)
            )


def test_the_seed_is_always_recorded() -> None:
    assert asked(ScriptedModel([])).seed == 0
    assert asked(ScriptedModel([]), RunRequest(seed=7)).seed == 7


@pytest.mark.parametrize(
    ("wish", "flags", "turns"),
    [
        (RunRequest(max_turns=3), {"operations.lint.max_turns": 5}, 3),
        (RunRequest(), {"operations.lint.max_turns": 5, "runner.max_turns": 7}, 5),
        (RunRequest(), {"runner.max_turns": 7}, 40),  # the definition's own
    ],
)
def test_the_nearest_word_on_turns_counts(
    wish: RunRequest, flags: Mapping[str, Any], turns: int
) -> None:
    config = load_config(
        user_file=None, project_file=None, environ={}, flags=flags, operations=BUILT_IN.settings
    )[0]
    assert max_turns_for(config, load_agents(Path("/nowhere"), BUILT_IN)["lint"], wish) == turns


def test_a_root_must_be_a_folder(tmp_path: Path) -> None:
    caller = Invocation(environ={}, folder=tmp_path, root=tmp_path / "gone")
    with pytest.raises(UsageError, match="gone is not a folder"):
        caller.find_root()


@pytest.mark.parametrize("section", ["model", "escalation"])
def test_a_key_in_the_users_file_does_not_hide_another_secret(tmp_path: Path, section: str) -> None:
    folder = tmp_path / ".config" / "remora"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"{section}: {{api_key: own-7f3kq9xw2m}}\n")
    variables = (
        "REMORA_API_KEY",
        "REMORA_ESCALATION_API_KEY",
        "MODEL_API_KEY",
        "ESCALATION_API_KEY",
    )
    secrets = {name: f"{name.lower()}-7f3kq9xw2m" for name in variables}
    caller = Invocation(environ={"HOME": str(tmp_path), **secrets}, folder=tmp_path)
    redact = open_project(caller).redact
    for secret in ("own-7f3kq9xw2m", *secrets.values()):
        assert secret not in redact.text(f"see {secret}!")


def test_the_install_key_is_made_once_and_an_empty_one_signs_nothing(tmp_path: Path) -> None:
    caller = Invocation(environ={"HOME": str(tmp_path)}, folder=tmp_path)
    made = open_project(caller).install_key
    assert open_project(caller).install_key == made
    (path,) = tmp_path.rglob("*install.key*")
    assert (len(made), path.stat().st_mode & 0o777) == (32, 0o600)
    path.write_bytes(b"")
    with pytest.raises(DiskError, match=r"install\.key") as caught:
        open_project(caller)
    assert "--trust-run" in caught.value.hint


class TestWhatIsLoaded:
    """Who only asks the Hub does not wait for what runs agents to be loaded."""

    @pytest.mark.slow
    def test_the_http_client_is_loaded_only_where_a_server_is_contacted(self) -> None:
        clients = ("remora.models.client", "remora.models.embedded.embedded_model",
                   "tests.scripted_model")  # fmt: skip
        plugin = "remora.judges.gates.values_plugin"  # loaded by a project's pytest
        code = (
            "import importlib, pkgutil, sys, remora\n"
            f"clients = {clients}\n"
            "for found in pkgutil.walk_packages(remora.__path__, 'remora.'):\n"
            "    name = found.name\n"
            "    if name.startswith(('remora.cli', 'remora.worker', 'remora.usecases', 'remora.bootstrap',"
            f" 'remora.engines', 'remora.runs', 'remora.agents', 'remora.exports', 'remora.evals', 'remora.models')) and not name.startswith(clients) and name != '{plugin}':\n"
            "        importlib.import_module(name)\n"
            "print(*sorted({'httpx', 'httpx2'} & sys.modules.keys()))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == ""
