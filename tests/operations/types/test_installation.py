"""Without the packages that it needs, the operation says what to install."""

from pathlib import Path

import pytest

from remora.errors import UsageError
from remora.operations.types import pyrefly
from remora.operations.types.types_need import unannotated
from remora.tools.tree import ToolTree


@pytest.mark.parametrize("package", ["ty", "pyrefly"])
def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str
) -> None:
    monkeypatch.setattr(pyrefly, "find_spec", lambda name: None if name == package else name)
    with pytest.raises(UsageError, match=f"requires the {package} package") as refused:
        unannotated(ToolTree(tmp_path), [], {})
    assert "[types]'" in refused.value.hint
