"""Comments that tools read, whose place and text have a meaning."""

import re

_DIRECTIVE = re.compile(
    r"#\s*(?:type:|noqa|pragma|pylint:|pyright:|mypy:|ruff:|isort:|flake8:|fmt:|yapf:|nosec|"
    r"doctest:|cython:|language=|region|endregion|TODO\s*\(?http|https?://|-\*-|!|:|"
    r"nosemgrep|NOSONAR|skipcq|sourcery|lgtm|pyre-|(?:codespell|typos|pytype|coverage):|"
    r"[\w-]+:\s*(?:ignore|disable|enable|skip|off|on)\b)",
    re.IGNORECASE,
)


def is_directive(comment: str) -> bool:
    """Return True if a comment, which starts with `#`, is read by a tool."""
    return _DIRECTIVE.match(comment.lstrip()) is not None
