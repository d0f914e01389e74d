"""Descriptions of the configuration for a set of operations: defaults, JSON Schema, commented file."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from pydantic import BaseModel

from remora.config.schema import Config, OperationConfig

OperationModels = Mapping[str, type[OperationConfig]]
"""Settings model of each operation, by name."""


def default_config(operations: OperationModels) -> Config:
    """Return the default configuration, with an entry for each operation."""
    return Config(operations={name: model() for name, model in operations.items()})


def describe_operations(operations: OperationModels) -> str:
    """Return the description of the `operations` key, including operation-specific keys."""
    known = [str(Config.model_fields["operations"].description)]
    for name, model in operations.items():
        own = [key for key in model.model_fields if key not in OperationConfig.model_fields]
        known += [f"{name} also has {key}: {model.model_fields[key].description}" for key in own]
    return " ".join(known)


def config_schema(operations: OperationModels) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a configuration file."""
    schema = Config.model_json_schema()
    section = schema["properties"]["operations"]
    ((pattern, base),) = section.pop("patternProperties").items()
    section |= {
        "description": describe_operations(operations),
        "default": {name: {} for name in operations},
        "propertyNames": {"pattern": pattern},
        "properties": {},
        "additionalProperties": base,
    }
    for name, model in operations.items():
        section["properties"][name] = {"$ref": f"#/$defs/{model.__name__}"}
        schema["$defs"][model.__name__] = model.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


_WIDTH = 76
"""Text width: 80 columns minus the two comment marks."""
_HEAD = """\
## Remora settings for this project. Every line that begins with "# " shows a
## default; to change it, remove the "# ". Settings for all your projects, and
## settings not allowed in a project, belong in ~/.config/remora/config.yaml.
"""


def commented_yaml(operations: OperationModels) -> str:
    """Return all keys with their defaults, commented out.

    If the settings are uncommented, the result is the default configuration.
    """
    about = {"operations": describe_operations(operations)}
    section = _section(default_config(operations), "", about)
    lines = [f"# {line}".rstrip() for line in section]
    return _HEAD + "\n" + "\n".join(lines) + "\n"


def _section(section: BaseModel, margin: str, described: Mapping[str, str]) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        about = textwrap.wrap(described.get(name) or field.description or "", _WIDTH - len(margin))
        yield from (f"{margin}# {line}" for line in about)
        if isinstance(value, BaseModel):
            yield f"{margin}{name}:"
            yield from _section(value, f"{margin}  ", {})
        else:
            yield f"{margin}{name}: {_flow(section, name)}"


def _flow(section: BaseModel, name: str) -> str:
    plain = section.model_dump(mode="json", include={name}).get(name)
    if isinstance(plain, dict):
        plain = {
            key: {k: v for k, v in inner.items() if v is not None} for key, inner in plain.items()
        }
    text: str = yaml.safe_dump(plain, default_flow_style=True, sort_keys=False, width=1000)
    return text.removesuffix("\n").removesuffix("\n...")
