"""Loading of the configuration from defaults, files, environment variables and flags."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from remora.config.field_docstrings import describe_fields
from remora.config.forbidden_settings import (
    check_merged,
    check_project_file,
    kept_from_user,
    without_model,
)
from remora.config.messages import describe_errors
from remora.config.schema import Config, OperationConfig, Section, default_config
from remora.config.user_folders import KEY_VARIABLES
from remora.config.yaml_positions import KeyPath, ParsedYaml, read_yaml, read_yaml_file
from remora.errors import ConfigError
from remora.json_schema import DIALECT
from remora.statuses import NO_MODEL

OperationModels = Mapping[str, type[OperationConfig]]
"""Settings model of each operation, by name."""

_PREFIX = "REMORA_"
_RECEIVERS = {"environment": ("user", "environment", "flag"), "user": ("user",)}
"""For each layer that sets an API key: the layers whose addresses may receive the key.

An address set by a project never receives a key.
"""
_ALLOWED = "model.allow_addresses"
_MODE, _ENABLED = ("runner", "memory", "mode"), ("runner", "memory", "enabled")
_SCALARS = (str, int, float, bool, type(None))


class _Layers(NamedTuple):
    """The result of merging layers."""

    values: dict[str, Any]
    """Plain values, to which `config` corresponds."""
    config: Config
    set_by: dict[KeyPath, str]
    """The layer that set each value."""
    places: dict[KeyPath, str]
    """Where each value was set."""


def load_config(  # noqa: PLR0913 (one keyword for each layer)
    *,
    user_file: Path | None,
    project_file: Path | None,
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    operations: OperationModels,
    project_table: ParsedYaml | None = None,
    takes_model: bool = True,
) -> tuple[Config, dict[KeyPath, str]]:
    """Return the configuration merged from all layers, and the place of each setting that overrides
    a default.

    A file that is None is skipped. All other files must exist. `project_table` is the
    `[tool.remora]` table of pyproject.toml, which can be used instead of a project file. `flags`
    have dotted keys such as `runner.max_turns`, and flags whose value is None are ignored.
    `operations` maps the name of each operation to its settings model. If `takes_model` is false,
    or if the user's file disables models, the project's settings that choose or enable one are
    ignored. Raises ConfigError with the position of every error in the first invalid layer, and
    DiskError if a file cannot be read.
    """
    defaults = default_config(operations)
    layers = _Layers(defaults.model_dump(), defaults, {}, {})
    if user_file is not None:
        parsed = read_yaml_file(user_file)
        layers = _add(layers, _without_api_keys(parsed), "user", operations)
    if project_file is not None or project_table is not None:
        parsed = _project_layer(project_file, project_table)
        check_project_file(parsed)
        if not takes_model or NO_MODEL in (layers.config.model.provider, layers.config.model.name):
            parsed = without_model(_with_provider(parsed))
        layers = _add_project(layers, parsed, operations)
    layers = _add_own(layers, _from_environ(environ), "environment", operations)
    if flags.get(_ALLOWED):  # in addition to those that the user allows for every command
        flags = {**flags, _ALLOWED: [*layers.config.model.allow_addresses, *flags[_ALLOWED]]}
    layers = _add_own(layers, _from_flags(flags), "flag", operations)
    if layers.config.runner.memory.enabled is False and _MODE not in layers.set_by:
        mode = _nested([(_MODE, "raw", layers.places[_ENABLED])])
        layers = _add(layers, mode, layers.set_by[_ENABLED], operations)
    check_merged(layers.config, layers.set_by)
    return layers.config.record_layers(layers.set_by), layers.places


def _project_layer(file: Path | None, table: ParsedYaml | None) -> ParsedYaml:
    """Return the project's settings. Raises ConfigError if both a file and a table are given."""
    if table is None or file is None:
        return table or read_yaml_file(file or Path())
    raise ConfigError(
        f"this project is configured in both {file} and {table.places[()]}",
        hint="move all settings into one of them and remove the other",
    )


def api_keys(environ: Mapping[str, str], user_file: Path | None, section: str) -> dict[str, str]:
    """Return the API keys for the address in `section`, each keyed by the layer that sets it.

    `section` is `model` or `escalation`. A key is set by an environment variable, or by `api_key`
    in that section of the user's file. Keys are never part of a Config. Raises DiskError if the
    user's file cannot be read, and ConfigError if the file is invalid. Error messages never contain
    a key.
    """
    values = (environ.get(name, "").strip() for name in KEY_VARIABLES[section])
    found = {"environment": next(filter(None, values), None), "user": _key_in(user_file, section)}
    return {layer: key for layer, key in found.items() if key}


def api_key(keys: Mapping[str, str], address_layer: str | None) -> str | None:
    """Return the first key that may be sent to an address set by `address_layer`, or None."""
    return next((key for layer, key in keys.items() if address_layer in _RECEIVERS[layer]), None)


def why_no_key(keys: Mapping[str, str], address_layer: str | None) -> str:
    """Return the reason why no key is sent to the configured address.

    The result is empty if a key is sent, or if the key or the address is missing.
    """
    if not keys or address_layer is None or api_key(keys, address_layer) is not None:
        return ""
    if address_layer == "project":
        return (
            "the project sets model.base_url, but keys are sent only to "
            "addresses that you set yourself"
        )
    return (
        "the key is in your own configuration file, but model.base_url "
        f"comes from the {address_layer}"
    )


def _key_in(user_file: Path | None, section: str) -> str | None:
    parsed = ParsedYaml(None, {}, {}) if user_file is None else read_yaml_file(user_file)
    where = (section, "api_key")
    if where not in parsed.places:
        return None
    found = parsed.value[section]["api_key"]
    if found is not None and not isinstance(found, str):
        message = f"{parsed.places[where]}: {section}.api_key: expected a string"
        raise ConfigError(message, hint="put it in quotes")
    return found


def _refuse_api_keys(layer: ParsedYaml) -> None:
    """Raise ConfigError if a layer that is visible to other programs sets an API key."""
    for section, (variable, *_) in KEY_VARIABLES.items():
        if (section, "api_key") in layer.places:
            raise ConfigError(
                f"{layer.places[section, 'api_key']}: an API key cannot be set here",
                hint=f"set {variable}, or set {section}.api_key in your own configuration file",
            )


def _add(layers: _Layers, layer: ParsedYaml, name: str, operations: OperationModels) -> _Layers:
    layer = _with_provider(layer)
    above = {} if layer.value is None else layer.value
    if not isinstance(above, dict):
        message = f"{layer.places[()]}: expected a mapping of keys, such as `runner:`"
        raise ConfigError(message, hint=_SEE)
    values = _overlay(layers.values, above)
    try:
        config = Config.model_validate(values, context=operations)
    except ValidationError as error:
        problems = describe_errors(error, Config, layer, operations)
        raise ConfigError("\n".join(problems), hint=_SEE) from error
    set_by = layers.set_by | dict.fromkeys(layer.places, name)
    return _Layers(values, config, set_by, layers.places | dict(layer.places))


def _add_own(layers: _Layers, layer: ParsedYaml, name: str, operations: OperationModels) -> _Layers:
    """Add settings that other programs can see."""
    _refuse_api_keys(layer)
    return _add(layers, layer, name, operations)


def _add_project(user: _Layers, layer: ParsedYaml, operations: OperationModels) -> _Layers:
    """Add a project's settings, except where they weaken what the user has set."""
    layers = _add(user, layer, "project", operations)
    kept = kept_from_user(user.values, layers.values, user.set_by)
    if not kept:
        return layers
    settings = ((path, value, user.places.get(path, "default")) for path, value in kept.items())
    return _add(layers, _nested(settings), "user", operations)


_SEE = "`remora schema config` lists all keys"


def _overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `above` into `below`, key by key. An empty section changes nothing."""
    merged = dict(below)
    for key, value in above.items():
        section = merged.get(key)
        if isinstance(section, dict) and value is None:
            continue
        if isinstance(section, dict) and isinstance(value, dict):
            merged[key] = _overlay(section, value)
        else:
            merged[key] = value
    return merged


def _without_api_keys(layer: ParsedYaml) -> ParsedYaml:
    for name in KEY_VARIABLES:
        if (name, "api_key") in layer.places:
            section = {key: value for key, value in layer.value[name].items() if key != "api_key"}
            layer = layer._replace(value={**layer.value, name: section})
    return layer


def _with_provider(layer: ParsedYaml) -> ParsedYaml:
    """Replace `model: none` by `model: {provider: none}`."""
    if not isinstance(layer.value, dict) or layer.value.get("model") != NO_MODEL:
        return layer
    places = {**layer.places, ("model", "provider"): layer.places[("model",)]}
    return layer._replace(value={**layer.value, "model": {"provider": NO_MODEL}}, places=places)


def _from_environ(environ: Mapping[str, str]) -> ParsedYaml:
    """Read settings from REMORA_KEY and REMORA_SECTION__KEY variables.

    The values are parsed as YAML. Unknown names without `__` are ignored. Like `--model`,
    REMORA_MODEL accepts a model name or a server address.
    """
    ours: list[tuple[tuple[str, ...], Any, str]] = []
    for name in sorted(environ):
        path = tuple(name.removeprefix(_PREFIX).lower().split("__"))
        if name.startswith(_PREFIX) and (len(path) > 1 or path[0] in Config.model_fields):
            value = read_yaml(environ[name].encode("utf-8", "surrogateescape"), name).value
            if name == "REMORA_MODEL" and not isinstance(value, dict):
                named = _named_model(environ[name])
                ours.extend((("model", key), setting, name) for key, setting in named.items())
            else:
                ours.append((path, value, name))
    return _nested(ours)


def _named_model(name: str) -> dict[str, str]:
    if not name:
        return {}
    return {"base_url": name, "provider": "openai"} if "://" in name else {"name": name}


def _from_flags(flags: Mapping[str, Any]) -> ParsedYaml:
    return _nested(
        (tuple(key.split(".")), _plain(value, key), f"flag {key}")
        for key, value in flags.items()
        if value is not None
    )


def _plain(value: Any, key: str) -> Any:
    """Convert a flag's value to the types that a YAML parser returns."""
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(inner, key) for name, inner in value.items()}
    if isinstance(value, Iterable):
        return [_plain(inner, key) for inner in value]
    return str(value)


def _nested(settings: Iterable[tuple[tuple[str, ...], Any, str]]) -> ParsedYaml:
    """Nest settings in one mapping according to their paths.

    Values inside a setting get the position of the setting.
    """
    values: dict[str, Any] = {}
    places: dict[KeyPath, str] = {}
    for path, value, place in settings:
        tree: Any = value
        for key in reversed(path):
            tree = {key: tree}
        values = _overlay(values, tree)
        places.update((path[:depth], place) for depth in range(1, len(path)))
        places.update((where, place) for where in _paths(value, path))
    return ParsedYaml(values, places, places)


def _paths(value: Any, where: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    yield where
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, (*where, key))


def describe_operations(operations: OperationModels) -> str:
    """Return the description of the `operations` key, including operation-specific keys."""
    describe_fields(Section)
    known = [str(Config.model_fields["operations"].description)]
    for name, model in operations.items():
        own = [key for key in model.model_fields if key not in OperationConfig.model_fields]
        known += [f"{name} also has {key}: {model.model_fields[key].description}" for key in own]
    return " ".join(known)


def config_schema(operations: OperationModels) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a configuration file."""
    described = describe_operations(operations)
    schema = Config.model_json_schema()
    section = schema["properties"]["operations"]
    ((pattern, base),) = section.pop("patternProperties").items()
    section |= {
        "description": described,
        "default": {name: {} for name in operations},
        "propertyNames": {"pattern": pattern},
        "properties": {},
        "additionalProperties": base,
    }
    for name, model in operations.items():
        section["properties"][name] = {"$ref": f"#/$defs/{model.__name__}"}
        schema["$defs"][model.__name__] = model.model_json_schema()
    return {**DIALECT, **schema}
