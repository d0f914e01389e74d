"""The codes of all rules that the bundled ruff knows."""

import subprocess
from functools import cache

import msgspec
from ruff import find_ruff_bin  # type: ignore[import-untyped]

_TIMEOUT_S = 20.0


class _Rule(msgspec.Struct):
    code: str | None  # rules in development have none


@cache
def rule_codes() -> frozenset[str]:
    """Return the codes of all rules, or an empty set if ruff cannot list them."""
    words = [find_ruff_bin(), "rule", "--all", "--output-format", "json"]
    try:
        listed = subprocess.run(
            words, capture_output=True, timeout=_TIMEOUT_S, check=True, cwd="/", env={}
        )
        rules = msgspec.json.decode(listed.stdout, type=list[_Rule])
        return frozenset(each.code for each in rules if each.code)
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        return frozenset()
