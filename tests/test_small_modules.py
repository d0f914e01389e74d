"""Errors, names, facilities, texts and files: what every module leans on."""

import gc
import hashlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remora
from remora import errors, python_text
from remora.errors import DISTRIBUTION, RemoraError, ScriptError, install_extra
from remora.facilities import FACILITIES, POSIX_VARIABLE, proc_path
from remora.hub.members.members import Members
from remora.hub.watch.watcher import open_watcher
from remora.ids import MODULE, agent_id, escape_path, is_id, node_key, split_node_key, unescape_path
from remora.sandbox.isolation import best_level, level_problem
from remora.text import escape_surrogates
from tests.platform_facilities import need_facility

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
    assert "`uv tool install --force 'remora-code[all]'`" in install_extra("ui")
    (metadata / "direct_url.json").write_text('{"url": "file:///s%25s", "dir_info": {}}')
    assert "`pip install '/s%s[ui]'`" in install_extra("ui")
    (metadata / "direct_url.json").write_text('{"url": "https://h/r", "vcs_info": {"vcs": "git"}}')
    assert "`pip install 'remora-code[ui] @ git+https://h/r'`" in install_extra("ui")
    (metadata / "direct_url.json").write_text('{"url": "https://h/r.whl", "archive_info": {}}')
    assert "`pip install 'remora-code[ui] @ https://h/r.whl'`" in install_extra("ui")


SOURCES = Path(remora.__path__[0])
ASKS = re.compile(r"""sys\.platform|platform\.system|["'/]proc/|inotify_init1\b""")
ANSWERS = (
    *("facilities.py", "sandbox/child/", "sandbox/isolation_probe.py", "hub/watch/inotify_"),
    "judges/faults/mutants.py",
)
"""The module, what uses a facility after it was found or runs without the package, and what reads
which platform a project asks for."""


@pytest.mark.parametrize("name", FACILITIES)
def test_linux_offers_each_facility(name: str) -> None:
    need_facility(name)
    is_offered, lost = FACILITIES[name]
    assert is_offered()
    assert lost


@pytest.mark.parametrize("name", FACILITIES)
def test_the_variable_turns_each_facility_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POSIX_VARIABLE, "1")
    is_offered, _ = FACILITIES[name]
    assert not is_offered()


def test_without_proc_no_path_in_it_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POSIX_VARIABLE, "1")
    assert not proc_path("self/stat").exists()
    assert not proc_path().is_dir()
    with pytest.raises(OSError, match="Not a directory"):
        proc_path("locks").read_text()


def test_other_systems_isolate_at_no_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POSIX_VARIABLE, "1")
    assert best_level() == 0
    assert {level_problem(level) for level in (1, 2, 3)} == {
        "this system has neither Landlock nor namespaces"
    }


def test_other_systems_watch_by_comparing_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSIX_VARIABLE, "1")
    watcher = open_watcher(tmp_path, Members(tmp_path))
    assert watcher.note.startswith("this system has no inotify")


def test_no_other_module_asks_what_the_platform_offers() -> None:
    asking = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if ASKS.search(path.read_text("utf-8"))
    }
    assert "facilities.py" in asking
    assert [path for path in sorted(asking) if not path.startswith(ANSWERS)] == []


def test_an_agents_id_is_made_of_run_node_and_attempt() -> None:
    digest = hashlib.sha256(b"run-1 node:a.py:f 2").hexdigest()
    assert agent_id("lint", "run-1", "node:a.py:f", 2) == f"lint-{digest[:12]}"


@pytest.mark.parametrize("name", ["a", "0", "20260131-093000-1f2e3d", "a.b_c-d", "a" * 64])
def test_valid_ids(name: str) -> None:
    assert is_id(name)


@pytest.mark.parametrize("name", ["", "A", ".a", "-a", "_a", "a/b", "..", "a\n", "ä", "a" * 65])
def test_invalid_ids(name: str) -> None:
    assert not is_id(name)


def test_a_path_is_spelled_with_what_utf8_lacks_as_percent() -> None:
    assert escape_path("src/ä b.py") == "src/ä b.py"
    assert escape_path("100%.py") == "100%25.py"
    assert escape_path(os.fsdecode(b"caf\xe9%41.py")) == "caf%E9%2541.py"


@given(st.binary(max_size=40))
def test_any_name_of_a_file_comes_back_from_its_spelling(name: bytes) -> None:
    path = name.decode("utf-8", "surrogateescape")
    spelled = escape_path(path)
    spelled.encode()  # can be written to a stream
    assert unescape_path(spelled) == path


@given(st.text(max_size=20), st.sampled_from(["f", "A.f", "f#2.inner", MODULE]))
def test_the_last_colon_of_a_key_splits(path: str, qualname: str) -> None:
    assert split_node_key(node_key(path, qualname)) == (path, qualname)


IMPORT = (
    "import sys; from remora.json_schema import validator; "
    "print(validator({'type': 'integer'}).is_valid('x'), 'lark' in sys.modules); "
    "import rfc3987_syntax"
)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(find_spec("rfc3987_syntax") is None, reason="rfc3987_syntax is not installed")
def test_the_grammars_of_iris_are_not_built_but_can_still_be_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, check=True, text=True
    )
    assert done.stdout == "False False\n"


TEXT = Path(python_text.__file__).read_text() * 20


@pytest.fixture
def restless() -> Iterator[None]:
    """An interpreter that often collects garbage, and lets another thread run meanwhile."""

    def yield_thread(*_: object) -> None:
        time.sleep(0)

    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.callbacks.append(yield_thread)
    gc.set_threshold(20)
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)
    gc.callbacks.remove(yield_thread)


@pytest.mark.slow
@pytest.mark.usefixtures("restless")
def test_threads_do_not_disturb_each_other() -> None:
    errors: list[Exception] = []

    def parse_often() -> None:
        try:
            for _ in range(5):
                python_text.parse(TEXT)
        except SystemError as error:
            errors.append(error)

    threads = [threading.Thread(target=parse_often) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_warnings_are_hidden() -> None:
    python_text.parse(r"'\d'")
    assert python_text.literal(r" '\d'") == r"\d"


def test_escaped_surrogates_leave_other_text_alone() -> None:
    assert escape_surrogates("é\\ud800\ud800😀") == "é\\ud800\\ud800😀"
