"""What the documentation and `remora schema config` say of settings agrees with what is read."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from pydantic import BaseModel

from remora.bootstrap.operations import BUILT_IN
from remora.config.loading import load_config
from remora.config.messages import known_keys
from remora.config.schema import Config
from remora.config.template import config_schema, default_config

GENERATE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "generate.py"))
commented_yaml: Callable[[object], str] = GENERATE["commented_yaml"]


def uncommented() -> str:
    return "".join(
        line.removeprefix("# ")
        for line in commented_yaml(BUILT_IN.settings).splitlines(keepends=True)
    )


def sections(model: BaseModel) -> list[BaseModel]:
    inner = [value for _, value in model if isinstance(value, BaseModel)]
    return [model, *(found for one in inner for found in sections(one))]


def test_as_it_is_written_it_sets_nothing(tmp_path: Path) -> None:
    path = tmp_path / "remora.yaml"
    path.write_text(commented_yaml(BUILT_IN.settings))
    assert yaml.safe_load(commented_yaml(BUILT_IN.settings)) is None
    assert load_config(
        user_file=path, project_file=path, environ={}, flags={}, operations=BUILT_IN.settings
    )[0] == default_config(BUILT_IN.settings)


def test_uncommented_it_is_every_default(tmp_path: Path) -> None:
    path = tmp_path / "remora.yaml"
    path.write_text(uncommented())
    assert load_config(
        user_file=path, project_file=None, environ={}, flags={}, operations=BUILT_IN.settings
    )[0] == default_config(BUILT_IN.settings)
    assert dotted(yaml.safe_load(uncommented())) == {
        key
        for key in known_keys(Config, where=())
        if "NAME" not in key and not key.startswith("redaction.rules.")
    } | {f"operations.{name}" for name in ("lint", "docstring", "test", "types")}


def dotted(value: dict[str, Any], before: str = "") -> set[str]:
    found = {before + key for key in value}
    for key, inner in value.items():
        if isinstance(inner, dict):
            found |= dotted(inner, f"{before}{key}.")
    return found


def test_every_key_has_a_meaning() -> None:
    missing = [
        f"{type(section).__name__}.{name}"
        for section in sections(default_config(BUILT_IN.settings))
        for name, field in type(section).model_fields.items()
        if not field.description
    ]
    assert missing == []
    assert max(map(len, commented_yaml(BUILT_IN.settings).splitlines())) <= 80


def test_the_schema_takes_the_defaults_and_refuses_an_unknown_key() -> None:
    schema = config_schema(BUILT_IN.settings)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    assert validator.is_valid(yaml.safe_load(uncommented()))
    assert validator.is_valid({"runner": {"max_turns": 3}})
    assert validator.is_valid({"operations": {"docstring": {"style": "numpy"}, "mine": {}}})
    assert not validator.is_valid({"operations": {"lint": {"style": "numpy"}}})
    assert not validator.is_valid({"operations": {"A b": {}}})
    for wrong in ("{runer: {}}", "{runner: {max_turns: x}}", "{model: {api_key: x}}"):
        assert not validator.is_valid(yaml.safe_load(wrong))
    assert schema["$defs"]["RunnerConfig"]["properties"]["max_turns"]["description"]
