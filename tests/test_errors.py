"""The tree of errors is the one that is drawn."""

import re
from pathlib import Path

import pytest

from remora import errors
from remora.errors import DISTRIBUTION, RemoraError, ScriptError, install_extra

_DRAWN = re.compile(r"^([ │├└─]*)(\w+) +exit (\d)", re.MULTILINE)


def _classes(above: type[RemoraError] = RemoraError) -> dict[str, type[RemoraError]]:
    found = {above.__name__: above} if above.__module__ == errors.__name__ else {}
    for inner in above.__subclasses__():
        found |= _classes(inner)
    return found


def _drawn() -> list[tuple[int, str, int]]:
    """Depth, name and exit code of each line of the tree."""
    return [(len(m[1]) // 4, m[2], int(m[3])) for m in _DRAWN.finditer(errors.__doc__ or "")]


def test_every_error_is_drawn_and_nothing_else() -> None:
    assert sorted(name for _, name, _ in _drawn()) == sorted(_classes())


def test_each_stands_below_its_base_with_its_exit_code() -> None:
    classes, above = _classes(), {}
    for depth, name, exit_code in _drawn():
        above[depth] = name
        assert classes[name].exit_code == exit_code
        base = classes[name].__base__
        assert base is not None
        assert base.__name__ == (above[depth - 1] if name != "RemoraError" else "Exception")


@pytest.mark.parametrize(
    ("name", "code"), [("RemoraError", "remora_error"), ("ContextTooLarge", "context_too_large")]
)
def test_the_code_is_the_name_in_snake_case(name: str, code: str) -> None:
    assert getattr(errors, name)("m").code == code


def test_errors_have_a_message_and_a_hint() -> None:
    error = ScriptError("a.pym:3: wrong", kind="typing", line=3, hint="mend it")
    assert (str(error), error.message, error.hint) == (
        "a.pym:3: wrong",
        "a.pym:3: wrong",
        "mend it",
    )
    assert (error.kind, error.line) == ("typing", 3)


def _installed(folder: Path) -> Path:
    """Write the metadata of an installation from an index."""
    metadata = folder / "remora_code-9.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {DISTRIBUTION}\nVersion: 9\n")
    return metadata


def test_an_extra_comes_from_the_index_only_if_the_package_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = _installed(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert "`pip install 'remora-code[ui]'`" in install_extra("ui")
    assert "clone" not in install_extra("ui")
    (metadata / "direct_url.json").write_text('{"url": "file:///src", "dir_info": {}}')
    assert "in its clone, " in install_extra("ui")
    assert "`pip install '.[ui]'`" in install_extra("ui")
