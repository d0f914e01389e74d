"""The rules that the bundled ruff knows."""

import subprocess
from collections.abc import Mapping
from functools import cache

import msgspec
from ruff import find_ruff_bin  # type: ignore[import-untyped]

from remora.tools.host.ruff.ruff_versions import Version, version_of

_TIMEOUT_S = 20.0
_STABLE, _PREVIEW = "Stable", "Preview"


class _Since(msgspec.Struct):
    since: str = ""


class Rule(msgspec.Struct):
    """A rule, as ruff lists it. Rules in development have no code."""

    code: str | None
    name: str = ""
    fix_availability: str = ""
    status: Mapping[str, _Since] = {}

    @property
    def is_stable(self) -> bool:
        return _STABLE in self.status

    @property
    def is_preview(self) -> bool:
        return _PREVIEW in self.status

    @property
    def since(self) -> Version:
        """The version of ruff that has the rule in its present status, or (0, 0, 0)."""
        return next((version_of(each.since) for each in self.status.values()), (0, 0, 0))


def rule_codes() -> frozenset[str]:
    """Return the codes of all rules, or an empty set if ruff cannot list them."""
    return frozenset(each.code for each in all_rules() if each.code)


@cache
def fixable_codes() -> frozenset[str]:
    """Return the codes of the rules that ruff has fixes for, at least in preview mode."""
    return frozenset(
        each.code for each in all_rules() if each.code and each.fix_availability != "None"
    )


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return all rules, or an empty tuple if ruff cannot list them."""
    words = [find_ruff_bin(), "rule", "--all", "--output-format", "json"]
    try:
        listed = subprocess.run(
            words, capture_output=True, timeout=_TIMEOUT_S, check=True, cwd="/", env={}
        )
        return msgspec.json.decode(listed.stdout, type=tuple[Rule, ...])
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        return ()
