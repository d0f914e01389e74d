"""The codes of the rules that the bundled ruff knows."""

import subprocess
from functools import cache

import msgspec
from ruff import find_ruff_bin  # type: ignore[import-untyped]

_TIMEOUT_S = 20.0


class _Rule(msgspec.Struct):
    code: str | None  # rules in development have none
    fix_availability: str = ""


def rule_codes() -> frozenset[str]:
    """Return the codes of all rules, or an empty set if ruff cannot list them."""
    return frozenset(each.code for each in _rules() if each.code)


@cache
def fixable_codes() -> frozenset[str]:
    """Return the codes of the rules that ruff has fixes for, at least in preview mode."""
    return frozenset(
        each.code for each in _rules() if each.code and each.fix_availability != "None"
    )


@cache
def _rules() -> tuple[_Rule, ...]:
    words = [find_ruff_bin(), "rule", "--all", "--output-format", "json"]
    try:
        listed = subprocess.run(
            words, capture_output=True, timeout=_TIMEOUT_S, check=True, cwd="/", env={}
        )
        return msgspec.json.decode(listed.stdout, type=tuple[_Rule, ...])
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        return ()
