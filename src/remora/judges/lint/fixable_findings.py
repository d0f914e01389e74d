"""Choice of the findings that may be fixed by ruff, and their places."""

from remora.tools.host.ruff.finding import Finding

Place = tuple[str, str, int, int]
"""Path, code, line and column of a finding."""


def place_of(finding: Finding) -> Place:
    return finding["path"], finding["code"], finding["line"], finding["column"]


def has_fix(finding: Finding, *, unsafe: bool) -> bool:
    """Return True if ruff has a fix for the finding, which is safe or may be `unsafe`."""
    fix = finding["fix"]
    return fix is not None and fix["applicability"] in (("safe", "unsafe") if unsafe else ("safe",))
