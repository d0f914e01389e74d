"""The user's own git, asked about a repository that would like to run something."""

import subprocess
from pathlib import Path

import pytest

from remora.files.git import git_command, git_environment, git_output

LACKING = "1" * 40
CONFIGURATION = """
[core]
    repositoryformatversion = 1
    fsmonitor = touch {mark}; false
    hooksPath = hooks
    pager = touch {mark}
    sshCommand = touch {mark}; false
[extensions]
    partialClone = origin
[remote "origin"]
    promisor = true
    url = {url}
    uploadpack = touch {mark}; false
[filter "own"]
    clean = touch {mark}
    smudge = touch {mark}
"""
ASKED = (
    ("ls-files", "-co", "-t", "--exclude-standard", "-z"),
    ("ls-files", "-s", "-z"),
    ("rev-parse", "--verify", "-q", "HEAD^{commit}"),
    ("check-ignore", "-q", "a.py"),
    ("config", "--list", "--show-origin", "-z"),
)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("url", ["{root}/.git", "ssh://localhost/x", "ext::sh -c touch% {mark}"])
def test_nothing_that_a_repository_names_is_run(tmp_path: Path, url: str, known: bool) -> None:
    root, mark = tmp_path / "root", tmp_path / "mark"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    said = CONFIGURATION.format(mark=mark, url=url.format(root=root, mark=mark))
    (root / ".git/config").write_text(said)
    (root / ".git/HEAD").write_text(f"{LACKING}\n")
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        place = root / ".git/hooks" / hook
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\ntouch {mark}\n")
        place.chmod(0o755)
    (root / ".gitattributes").write_text("* filter=own diff=own\n")
    (root / "a.py").write_text("def a(): pass\n")
    environment = git_environment()
    if not known:  # what a git older than it takes no notice of
        del environment["GIT_NO_LAZY_FETCH"]
    for words in ASKED:
        subprocess.run(
            git_command(*words), cwd=root, env=environment, capture_output=True, check=False
        )
    assert not mark.exists()


def test_no_signature_is_looked_at_by_a_program_that_a_repository_names(tmp_path: Path) -> None:
    root, mark = tmp_path / "root", tmp_path / "mark"
    subprocess.run(["git", "init", "-q", str(root)], check=True)

    def git(*words: str, stdin: str = "") -> str:
        done = subprocess.run(
            git_command(*words),
            cwd=root,
            env=git_environment(),
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    program = tmp_path / "gpg"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    with (root / ".git/config").open("a") as config:
        config.write(f"[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {program}\n")
    who = "a <a@localhost> 1 +0000"
    signed = f"tree {git('mktree')}\nauthor {who}\ncommitter {who}\ngpgsig x\n y\n\ntold\n"
    commit = git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=signed)
    assert git("log", "--format=%B", commit) == "told"
    assert not mark.exists()


def test_the_users_configuration_is_read_where_the_user_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").mkdir()
    (tmp_path / "git/config").write_text("[own]\nname = Ana\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert git_output(tmp_path, "config", "own.name") == b"Ana\n"
