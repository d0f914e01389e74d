"""The commented `remora.yaml` written by `remora init`, with the description and default of each
key.
"""

import textwrap
from collections.abc import Iterator, Mapping

import yaml
from pydantic import BaseModel

from remora.config.known_operations import OperationModels, default_config, describe_operations

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
