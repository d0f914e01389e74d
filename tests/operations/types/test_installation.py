"""Without the package of the type checker, the operation says what to install."""

from pathlib import Path

import pytest

from remora.errors import UsageError
from remora.operations.types.checker import type_checker
from remora.operations.types.types_need import unannotated
from remora.tools.tree import ToolTree


def test_a_missing_type_checker_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(type_checker, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match="requires the ty package") as refused:
        unannotated(ToolTree(tmp_path), [], {})
    assert "'.[types]'" in refused.value.hint
