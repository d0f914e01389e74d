"""Consent to run a project's code."""

from pathlib import Path

import pytest

from remora.errors import UsageError
from remora.sandbox.isolation import check_consent, check_home


def test_consent_is_asked_for_below_level_two_or_in_the_home_folder(tmp_path: Path) -> None:
    for level in (0, 1):
        with pytest.raises(UsageError, match=f"L{level}") as refused:
            check_consent(level, allowed=False)
        assert "--allow-unsandboxed" in refused.value.hint
        check_consent(level, allowed=True)
    check_consent(2, allowed=False)
    home = tmp_path / "home"
    for root in (home, tmp_path):
        with pytest.raises(UsageError, match="home folder"):
            check_home(root, home, allowed=False)
        check_home(root, home, allowed=True)
    check_home(home / "project", home, allowed=False)
