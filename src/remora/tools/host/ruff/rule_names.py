"""Names of ruff's rules, such as `unused-import` for F401."""

import subprocess
from collections.abc import Mapping

import msgspec
from ruff import find_ruff_bin  # type: ignore[import-untyped]

_SECONDS = 10.0
_WORDS = ("rule", "--all", "--output-format", "json")


class _Rule(msgspec.Struct):
    code: str | None
    name: str


def rule_names() -> Mapping[str, str]:
    """Return the names of the rules of the bundled ruff by code, or none if it does not list them."""
    try:
        done = subprocess.run(
            [find_ruff_bin(), *_WORDS], capture_output=True, timeout=_SECONDS, check=True
        )
        rules = msgspec.json.decode(done.stdout, type=list[_Rule])
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        return {}
    return {rule.code: rule.name for rule in rules if rule.code}
