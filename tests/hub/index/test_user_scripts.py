"""A project's own scripts: facts of a node in, one JSON value out, and nothing else."""

import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.code.file_analysis import read_facts
from remora.hub.index import user_scripts
from remora.hub.index.user_scripts import MAX_SCRIPTS, UserScripts
from remora.pym import Script

SOURCE = b'def total(items):\n    """Sum."""\n    return sum(items) if items else 0\n'


def script(root: Path, name: str, text: str) -> Path:
    folder = root / ".remora/hub"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.pym"
    path.write_text(f'from remora.pym import Input\nnode: dict = Input("node")\n{text}\n')
    return path


def extra(scripts: UserScripts) -> dict[str, Any]:
    scripts.state()
    facts = read_facts("src/a%b.py", SOURCE)
    return scripts.extras(facts).get("node:src/a%25b.py:total", {})


def test_each_script_gives_a_value_for_a_nodes_facts(tmp_path: Path) -> None:
    scripts = UserScripts(tmp_path)
    assert scripts.state() == ""
    assert extra(scripts) == {}
    script(tmp_path, "risk", '{"score": node["complexity"] * 10, "why": ["branches"]}')
    script(tmp_path, "owner", '"shop" if node["file_path"].startswith("src/") else None')
    script(tmp_path, "answer", "1").write_text("40 + 2\n")  # takes no input
    values = extra(UserScripts(tmp_path))
    assert values == {"answer": 42, "owner": "shop", "risk": {"score": 20, "why": ["branches"]}}
    script(tmp_path, "told", "node")
    told = extra(UserScripts(tmp_path))["told"]
    assert told["key"] == "node:src/a%25b.py:total"
    assert told["file_path"] == "src/a%25b.py"
    assert told["signature"] == "def total(items)"
    assert (told["complexity"], told["partial"], told["decorators"]) == (2, False, [])
    assert not {"line_start", "file_hash"} & set(told)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("node['no such key']", r"KeyError: .?no such key"),
        ("1 / 0", "division by zero"),
        ("while True: pass", "limit"),
        ("[0] * 10**9", "limit"),
        ("'x' * 5000", "larger than 4096 bytes"),
        ("open('/etc/passwd').read()", ""),
        ("import os\nos.system('id')", ""),
        ("def f(:", "syntax|Expected"),
        ("print('x' * 100000)\n1", "printed more than"),
    ],
)
def test_a_script_that_fails_says_so_on_one_line(tmp_path: Path, text: str, error: str) -> None:
    script(tmp_path, "bad", text)
    script(tmp_path, "good", "1")
    values = extra(UserScripts(tmp_path))
    assert values["good"] == 1
    assert list(values["bad"]) == ["error"]
    told = values["bad"]["error"]
    assert told
    assert "\n" not in told
    assert re.search(error, told), told


def test_a_script_has_no_host_functions(tmp_path: Path) -> None:
    script(
        tmp_path,
        "reader",
        "from remora.pym import external\n"
        "@external\ndef read_text(path: str) -> str: ...\n"
        "read_text('a.py')",
    )
    assert "was not granted" in extra(UserScripts(tmp_path))["reader"]["error"]


def test_a_script_that_runs_into_its_limits_is_given_up_until_it_is_changed(tmp_path: Path) -> None:
    path = script(tmp_path, "loop", "while True: pass")
    scripts = UserScripts(tmp_path)
    scripts.state()
    facts = read_facts("a.py", b"def f(): ...\ndef g(): ...\ndef h(): ...\n")
    told = [values["loop"]["error"] for values in scripts.extras(facts).values()]
    assert ["not run any more" in error for error in told] == [False, False, False, True]
    assert told[3] == "not run any more: it ran into its limits, 3 of 3 times"
    path.write_text("1\n")
    assert extra(scripts) == {"loop": 1}


def test_a_slow_one_is_given_up_when_others_have_waited_long_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "slow", "n = 0\nfor i in range(100000): n += i\nn")
    monkeypatch.setattr(user_scripts, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(user_scripts, "_PATIENCE_PER_RUN_S", 0.0)
    scripts = UserScripts(tmp_path)
    scripts.state()
    source = b"".join(b"def f%d(): ...\n" % number for number in range(30))
    last = list(scripts.extras(read_facts("a.py", source)).values())[-1]
    assert "not run any more" in last["slow"]["error"]


def test_an_edit_elsewhere_in_the_file_runs_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "told", "node['node_name']")
    scripts = UserScripts(tmp_path)
    before = extra(scripts)
    monkeypatch.setattr(Script, "run", None)  # calling it would fail
    facts = read_facts("src/a%b.py", b"\n" + SOURCE)
    key = "node:src/a%25b.py:total"
    assert scripts.extras(msgspec.structs.replace(facts, nodes=facts.nodes[1:]))[key] == before


def test_the_state_follows_names_and_bytes(tmp_path: Path) -> None:
    scripts = UserScripts(tmp_path)
    path = script(tmp_path, "a", "1")
    first = scripts.state()
    assert first != ""
    assert scripts.state() == first == UserScripts(tmp_path).state()
    path.rename(path.with_name("b.pym"))
    renamed = scripts.state()
    path.with_name("b.pym").write_text("2\n")
    changed = scripts.state()
    path.with_name("b.pym").unlink()
    assert len({first, renamed, changed, scripts.state()}) == 4
    assert scripts.state() == ""


def test_no_link_is_followed_and_no_pipe_is_waited_for(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("'the secret'\n")
    folder = script(tmp_path, "good", "1").parent
    (folder / "link.pym").symlink_to(secret)
    os.mkfifo(folder / "pipe.pym")
    (folder / "folder.pym").mkdir()
    values = extra(UserScripts(tmp_path))
    assert values["good"] == 1
    assert [list(values[name]) for name in ("link", "pipe", "folder")] == [["error"]] * 3
    assert "secret" not in str(values)
    elsewhere = tmp_path / "elsewhere"
    script(elsewhere, "a", "1")
    project = tmp_path / "project"
    project.mkdir()
    (project / ".remora").symlink_to(elsewhere / ".remora")
    assert [list(value) for value in extra(UserScripts(project)).values()] in ([], [["error"]])


def test_odd_names_and_too_many_scripts_are_left_out(tmp_path: Path) -> None:
    for number in range(MAX_SCRIPTS + 5):
        script(tmp_path, f"s{number:02}", str(number))
    folder = tmp_path / ".remora/hub"
    (folder / "not a name.pym").write_text("1\n")
    (folder / "a\nb.pym").write_text("1\n")
    values = extra(UserScripts(tmp_path))
    assert sorted(values) == [f"s{number:02}" for number in range(MAX_SCRIPTS)]
