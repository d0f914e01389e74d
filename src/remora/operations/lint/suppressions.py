"""Comments that suppress findings, such as `noqa`, which another linter may need."""

import re
from collections.abc import Sequence
from importlib.metadata import version

from remora.tools.host.ruff.config_files import is_configured
from remora.tools.host.ruff.finding import Finding
from remora.tools.host.ruff.ruff_versions import ruff_use, version_of
from remora.tools.host.ruff.rule_choice import SelectedRules
from remora.tools.tree import ToolTree

_NO_QA = "RUF100"
_SUPPRESSION = "RUF10"
"""Beginning of the rules about comments that suppress findings."""
_HOOK = re.compile(r"^\s*-?\s*id:\s*flake8\b", re.MULTILINE)
_LINTER = re.compile(r"(?<![\w-])(?:flake8|pylint|pycodestyle|pyflakes|prospector|pylama)(?![\w-])")


def kept_suppressions(
    place: ToolTree, path: str, findings: Sequence[Finding], selected: SelectedRules
) -> dict[str, str]:
    """Return the rules about comments that suppress findings, if these stay, with the reasons.

    A project that pins another version of ruff may need them for it. A `noqa` comment may be for
    flake8 or another tool: if the project uses it, if the comment names a rule that ruff does not
    know, or, unless RUF100 is selected, if the project does not use ruff or the comment names a
    rule that is not checked.
    """
    found = {each["code"] for each in findings if each["code"].startswith(_SUPPRESSION)}
    if not found:
        return {}
    use = place.once(ruff_use)
    if use.version is not None and use.version.number[:2] != version_of(version("ruff"))[:2]:
        return dict.fromkeys(found, "the project pins another version of ruff")
    own = is_configured(place, path)
    messages = [each["message"] for each in findings if each["code"] == _NO_QA]
    is_for_another = (
        any("unknown:" in each for each in messages)
        or _uses_flake8(place)
        or (not own and _names_linter(place))
    )
    if not selected.are_asked_for(path, _NO_QA):
        uses_ruff = own or use.is_named or use.version is not None
        is_unchecked = any("non-enabled:" in each for each in messages)
        is_for_another = is_for_another or not uses_ruff or is_unchecked
    return {_NO_QA: "another linter may need the comment"} if is_for_another else {}


def _uses_flake8(place: ToolTree) -> bool:
    return bool(_HOOK.search(place.text_or_empty(".pre-commit-config.yaml"))) or any(
        place.ini(name).has_section("flake8") for name in ("setup.cfg", "tox.ini", ".flake8")
    )


def _names_linter(place: ToolTree) -> bool:
    """Return True if the project's settings, requirements or commands name another linter."""
    paths = ["tox.ini", "setup.cfg", "setup.py", "pyproject.toml", "Makefile", "noxfile.py"]
    for pattern in ("*requirements*.txt", "requirements/*.txt", ".github/workflows/*.y*ml"):
        paths += place.files.glob(pattern, look=place.left)
    return any(place.files.exists(name) for name in (".pylintrc", "pylintrc", ".flake8")) or any(
        _LINTER.search(place.text_or_empty(path)) for path in (*paths, ".pre-commit-config.yaml")
    )
