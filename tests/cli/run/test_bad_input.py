"""Whatever is wrong is told with what to do next and the right exit code; nothing is changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import SETTINGS, Done, Ran, Remora, tree, write


def test_a_configuration_that_cannot_be_used_says_what_to_do(poor: Remora, project: Path) -> None:
    def refused(place: str) -> Done:
        done = poor("analyze", "--json", cwd=project)
        assert done.code == 2
        assert place in done.error["message"]
        return done

    write(project, {"ruff.toml": "lint.select = ['NOPE']\n"})
    wrong = refused("ruff.toml").error
    assert wrong["message"].count("ruff failed") <= 1
    assert str(poor.home) not in wrong["message"]
    assert wrong["hint"]
    path = project / "remora.yaml"
    for content, place in ((b"python: caf\xe9\n", ""), (b"runner:\n  max_turns: [1\n", ":3:1: ")):
        path.write_bytes(content)
        wrong = refused(f"{path}{place}").error
        assert wrong["code"] == "config_error"
        assert wrong["hint"]
    path.unlink()
    path.mkdir()
    refused(str(path))
    path.rmdir()
    path.symlink_to("/etc/passwd")
    assert "root:" not in refused(str(path)).err  # errors quote only the project's own text


WRONG_USAGE = (
    "analyze nowhere", "analyze src ..", "analyze pyproject.toml", "analyze --node zzz*",
    "analyze --changed=zzz", "analyze --engine queue", "analyze --max-nodes 0",
    "analyze --max-turns 1000001", "analyze --max-time nan", "analyze --seed 4294967295",
    "analyze --model ftp://models.test", "analyze --model no-such-model",
    "analyze --concurrency many", "schema nodes", "--config nowhere.yaml runs",
    "--root nowhere runs",
)  # fmt: skip


def test_what_is_asked_wrongly_or_leads_elsewhere_is_refused_and_changes_nothing(
    remora: Remora, project: Path, tmp_path: Path
) -> None:
    before = tree(project)
    for line in WRONG_USAGE:
        done = remora("--json", *line.split(), cwd=project)
        assert (done.code, bool(done.error["message"])) == (2, True), line
    for verb in ("accept", "reject", "revert", "retry"):
        done = remora(verb, "--json", cwd=project)
        assert (done.code, "`last`" in done.error["hint"]) == (2, True), verb
    for folder, path in ((project, "src/settings.py"), (project / "src", "settings.py")):
        error = remora("analyze", path, f"{path}:read", "--json", cwd=folder).error
        assert f"`remora analyze {path} --node read`" in error["hint"]
    words = (path, "-o", "steps", "--node", "read", "--dry-run", "--json")
    narrowed = remora("analyze", *words, cwd=folder).document
    assert {job["node_id"] for job in narrowed["jobs"]} == {"node:src/settings.py:read"}
    # a missing server is never replaced
    done = remora("analyze", "--model", "http://127.0.0.1:9/v1", "--json", cwd=project)
    assert (done.code, done.error["code"]) == (3, "model_error")
    assert "correct the address on the command line" in done.error["hint"]
    assert not (project / ".agentfs").exists()
    # records behind a link are neither read nor written
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / ".agentfs").symlink_to(elsewhere)
    for line in ("analyze", "runs", "show last", "accept last --all", "trace list"):
        done = remora(*line.split(), "--json", cwd=project)
        assert (done.code, str(project / ".agentfs") in done.error["message"]) == (3, True), line
    assert not list(elsewhere.iterdir())
    assert tree(project) == before


UNKNOWN = {
    "show zzzzzz": "`remora runs` lists",
    "diff last zzzzzz": "lists its functions",
    "diff last raed": "src/settings.py:read",
    "accept last raed": "src/settings.py:read",
    "trace show zzzzzz": "`remora trace list` lists",
    "trace packet lint-ffffffffffff": "",
    "tools run lnt": "",
    "config show runner.max_turn": "runner.max_turns",
}


def test_an_unknown_name_exits_with_1_and_a_hint(ran: Ran) -> None:
    for line, hint in UNKNOWN.items():
        done = ran(*line.split(), "--json")
        assert (done.code, done.error["code"], bool(done.error["hint"])) == (1, "not_found", True)
        assert hint in done.error["message"] + done.error["hint"], line


def test_what_is_not_chosen_is_not_guessed(ran: Ran) -> None:
    for words, choice in (
        (("trace", "show", "steps-"), ran.job["agent_id"]),
        (("accept", "last"), "src/settings.py:read"),
    ):
        done = ran(*words, "--json")
        assert done.code == 2
        assert choice in done.error["hint"]


def test_a_run_of_another_installation_is_not_trusted(ran: Ran, tmp_path: Path) -> None:
    home = tmp_path / "other"
    home.mkdir()
    other = Remora(home)
    assert other("show", "last", cwd=ran.root).code == 0
    done = other("reject", "last", "--all", "--json", cwd=ran.root)
    assert done.code == 2
    assert "--trust-run" in done.error["hint"]


def test_notebooks_are_refused_by_name_and_counted_in_folders(poor: Remora, project: Path) -> None:
    words = ("check", "-o", "docstring")
    notebooks = dict.fromkeys(("src/a.ipynb", "src/b.IPYNB", "c.ipynb"), "{}")
    write(project, {**notebooks, "src/settings.py": "X = 1\n", "remora.yaml": ""})
    named = poor(*words, "src/settings.py", "src/a.ipynb", "--json", cwd=project)
    assert named.code == 2
    assert named.error["message"] == "src/a.ipynb is a notebook, which Remora does not read"
    assert poor(*words, "src/b.IPYNB", cwd=project).code == 2
    found = poor(*words, "src", cwd=project)
    assert found.code == 0
    line = "not checked: *.ipynb: 2 notebooks, which Remora does not read"
    assert (found.out + found.err).count(line) == 1
    write(project, {"remora.yaml": "exclude: ['*.ipynb', '*.IPYNB']\n"})
    assert "notebook" not in poor(*words, "src", cwd=project).err
    assert poor("check", "src/a.ipynb", cwd=project).code == 0


def test_nothing_to_do_has_its_reasons_and_is_an_error_if_nothing_was_read(
    poor: Remora, tmp_path: Path
) -> None:
    excluded = {"a.py": "x = 1\n", "remora.yaml": "exclude: ['a.py']\n"}
    clean = {"fine.py": "X = 1\n", "pyproject.toml": SETTINGS}
    bad = ["no readable Python code", "1 file could not be read", "not checked: bad.py:1: "]
    for name, files, code, reasons in (
        ("empty", {}, 0, ["no Python code"]),
        ("bad", {"bad.py": "def f(:\n"}, 1, bad),
        ("excluded", excluded, 0, ["`exclude`"]),
        ("clean", clean, 0, ["1 file checked; no work needed"]),
    ):
        (tmp_path / name).mkdir()
        done = poor("analyze", cwd=write(tmp_path / name, files))
        assert (done.code, "nothing to do: " in done.out) == (code, True)
        assert [reason for reason in reasons if reason not in done.out] == []
        assert "using" not in done.err
    done = poor("analyze", "../clean", "--json", cwd=tmp_path / "excluded")
    assert f"using {tmp_path / 'clean'} as the project" in done.err
    assert (done.code, done.document["run_id"]) == (0, None), "no run was started"
    assert done.document["totals"]["skipped"] == 2  # neither lint nor docstring


def test_nothing_to_do_counts_the_findings_that_are_left(poor: Remora, tmp_path: Path) -> None:
    source = "def f(a, l):\n    b = a\n    return a == None or l\n"
    left = write(tmp_path / "left", {"a.py": source, "pyproject.toml": SETTINGS})
    listed = poor("analyze", "-o", "lint", "-v", cwd=left).out
    assert "a.py:1 E741: Ambiguous variable name" in listed
    shown = poor("analyze", "-o", "lint", cwd=left).out
    said = "2 findings need --unsafe-fixes; 1 finding has no fix (-v lists them)"
    assert f"1 file checked; {said}\n" in shown
    document = poor("analyze", "-o", "lint", "--json", cwd=left).document
    assert sum(document["totals"]["findings_left"].values()) == 3
    assert document["rules"] is None  # the project selects them


def test_without_weights_rules_decide_and_one_line_says_so(poor: Remora, project: Path) -> None:
    done = poor("analyze", "--json", "-o", "lint", cwd=project)
    assert done.code == 0
    assert done.document["model"] == "none"
    assert {who for job in done.document["jobs"] for who, n in job["decided_by"].items() if n} == {
        "rule"
    }
    (said,) = [line for line in done.err.splitlines() if "no model" in line]
    assert said.endswith(", no model: rules only")
    required = replace(poor, environ={**poor.environ, "REMORA_MODEL__PROVIDER": "embedded"})(
        "analyze", "--json", cwd=project
    )
    assert required.code == 3
    assert "remora model pull" in required.error["hint"]


@pytest.mark.slow
def test_many_jobs_are_not_run_unasked(poor: Remora, tmp_path: Path) -> None:
    files = {f"many/m{i}.py": "import os\n" for i in range(201)}
    many = write(tmp_path / "many", {**files, "pyproject.toml": SETTINGS})
    lint = ("analyze", "-o", "lint")
    done = poor(*lint, "--json", cwd=many)
    assert done.code == 2
    assert "lint 201 in 201 files" in done.error["message"]
    assert "about 10 seconds" in done.error["message"]
    assert "--yes" in done.error["hint"]
    assert len(poor(*lint, "--dry-run", "--json", cwd=many).document["jobs"]) == 201
    # with --yes it gets as far as the model, which this user does not have
    embedded = replace(poor, environ={**poor.environ, "REMORA_MODEL__PROVIDER": "embedded"})
    assert embedded(*lint, "--yes", cwd=many).code == 3


def test_without_git_the_target_folder_is_the_project(remora: Remora, tmp_path: Path) -> None:
    plain = write(tmp_path / "plain", {"a.py": "import os\n", "pyproject.toml": SETTINGS})
    done = remora("analyze", "--json", cwd=plain)
    assert done.code == 0, done.err
    assert done.document["root"] == str(plain)
    assert f"no git repository found: using {plain} as the project" in done.err
    assert remora("accept", "--untested", "last", "--all", cwd=plain).code == 0
    assert (plain / "a.py").read_text() == ""
    assert remora("trace", "verify", cwd=plain).code == 0
    assert remora("analyze", "--changed", cwd=plain).code == 2
