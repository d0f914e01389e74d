"""Whatever is wrong is told with what to do next and the right exit code; nothing is changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import SETTINGS, Ran, Remora, tree, write


def test_a_broken_configuration_says_what_to_do(poor: Remora, project: Path) -> None:
    for content, place in ((b"python: caf\xe9\n", ""), (b"runner:\n  max_turns: [1\n", ":3:1: ")):
        write(project, {"remora.yaml": content})
        done = poor("analyze", "--json", cwd=project)
        assert (done.code, done.error["code"]) == (2, "config_error")
        assert done.error["hint"]
        assert f"{project}/remora.yaml{place}" in done.error["message"]


def test_a_configuration_that_is_not_a_file_of_the_project_is_refused(
    poor: Remora, project: Path
) -> None:
    path = project / "remora.yaml"
    path.mkdir()
    for target in ("", "/etc/passwd"):
        if target:
            path.symlink_to(target)
        done = poor("analyze", "--json", cwd=project)
        assert done.code == 2
        assert str(path) in done.error["message"]
        assert "root:" not in done.err  # errors quote only the project's own text
        path.unlink() if target else path.rmdir()


WRONG_USAGE = (
    "analyze nowhere", "analyze src ..", "analyze pyproject.toml", "analyze --node zzz*",
    "analyze --changed=zzz", "analyze --engine queue", "analyze --max-nodes 0",
    "analyze --max-turns 1000001", "analyze --max-time nan", "analyze --seed 4294967295",
    "analyze --model ftp://models.test", "analyze --model no-such-model",
    "analyze --concurrency many", "schema nodes", "--config nowhere.yaml runs",
    "--root nowhere runs",
)  # fmt: skip


def test_wrong_usage_exits_with_2(poor: Remora, project: Path) -> None:
    before = tree(project)
    for line in WRONG_USAGE:
        done = poor("--json", *line.split(), cwd=project)
        assert (done.code, bool(done.error["message"])) == (2, True), line
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


def test_a_project_without_readable_code_is_not_an_error(poor: Remora, tmp_path: Path) -> None:
    excluded = {"a.py": "x = 1\n", "remora.yaml": "exclude: ['a.py']\n"}
    for number, (files, reasons) in enumerate((
        ({}, ["no Python code"]),
        ({"bad.py": "def f(:\n"}, ["no readable Python code", "not checked: bad.py:1: "]),
        (excluded, ["`exclude`"]),
    )):  # fmt: skip
        (tmp_path / str(number)).mkdir()
        done = poor("analyze", cwd=write(tmp_path / str(number), files))
        assert (done.code, "nothing to do: " in done.out) == (0, True)
        assert [each for each in reasons if each not in done.out] == []


def test_without_a_run_the_newest_is_suggested(poor: Remora, project: Path) -> None:
    for verb in ("accept", "reject", "revert", "retry"):
        done = poor(verb, "--json", cwd=project)
        assert (done.code, "`last`" in done.error["hint"]) == (2, True), verb


def test_a_node_in_the_place_of_a_path_is_sent_to_the_option(poor: Remora, project: Path) -> None:
    for folder, path in ((project, "src/settings.py"), (project / "src", "settings.py")):
        error = poor("analyze", path, f"{path}:read", "--json", cwd=folder).error
        assert f"`{path} --node read`" in error["hint"]
    words = (path, "-o", "steps", "--node", "read", "--dry-run", "--json")
    narrowed = poor("analyze", *words, cwd=folder).document
    assert {job["node_id"] for job in narrowed["jobs"]} == {"node:src/settings.py:read"}


def test_nothing_to_do_needs_no_model(poor: Remora, tmp_path: Path) -> None:
    clean = write(tmp_path / "clean", {"fine.py": "X = 1\n", "pyproject.toml": SETTINGS})
    done = poor("analyze", "--json", cwd=clean)
    assert done.code == 0
    assert done.document["run_id"] is None, "no run was started"
    assert done.document["totals"]["skipped"] == 2  # neither lint nor docstring
    assert "nothing to do: 1 file checked; no work needed" in poor("analyze", cwd=clean).out


def test_a_project_elsewhere_is_named(poor: Remora, tmp_path: Path) -> None:
    for name in ("here", "other"):
        write(tmp_path / name, {"a.py": "X = 1\n"})
    done = poor("analyze", "../other", cwd=tmp_path / "here")
    assert f"using {tmp_path / 'other'} as the project" in done.err
    assert "using" not in poor("analyze", cwd=tmp_path / "here").err


def test_nothing_to_do_counts_the_findings_that_are_left(poor: Remora, tmp_path: Path) -> None:
    source = "def f(a, l):\n    b = a\n    return a == None or l\n"
    left = write(tmp_path / "left", {"a.py": source, "pyproject.toml": SETTINGS})
    shown = poor("analyze", "-o", "lint", cwd=left).out
    assert (
        "1 file checked; 2 findings need --unsafe-fixes; 1 finding has no fix (-v lists them)\n"
        in shown
    )
    listed = poor("analyze", "-o", "lint", "-v", cwd=left).out
    assert "a.py:1 E741: Ambiguous variable name" in listed
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


def test_a_missing_server_is_never_replaced(remora: Remora, project: Path) -> None:
    done = remora("analyze", "--model", "http://127.0.0.1:9/v1", "--json", cwd=project)
    assert done.code == 3
    assert done.error["code"] == "model_error"
    assert "correct the address on the command line" in done.error["hint"]
    assert not (project / ".agentfs").exists()


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
    assert remora("accept", "last", "--all", cwd=plain).code == 0
    assert (plain / "a.py").read_text() == ""
    assert remora("trace", "verify", cwd=plain).code == 0
    assert remora("analyze", "--changed", cwd=plain).code == 2


def test_ruff_settings_that_are_wrong_are_the_projects_to_correct(
    poor: Remora, project: Path
) -> None:
    write(project, {"ruff.toml": "lint.select = ['NOPE']\n"})
    done = poor("analyze", "--json", cwd=project)
    assert done.code == 2
    assert "ruff.toml" in done.error["message"]
    assert done.error["message"].count("ruff failed") <= 1
    assert str(poor.home) not in done.error["message"]
    assert done.error["hint"]


def test_records_behind_a_link_are_neither_read_nor_written(
    poor: Remora, project: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / ".agentfs").symlink_to(elsewhere)
    for line in ("analyze", "runs", "show last", "accept last --all", "trace list"):
        done = poor(*line.split(), "--json", cwd=project)
        assert (done.code, str(project / ".agentfs") in done.error["message"]) == (3, True), line
    assert not list(elsewhere.iterdir())
