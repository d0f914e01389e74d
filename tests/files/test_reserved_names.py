"""Names that some file system reads as version control or as Remora's settings."""

import pytest

from remora.files.reserved_names import reserved

RECORDS = [
    ".git",
    ".git/hooks/post-commit",
    "sub/.GIT/config",
    ".Git",
    ".g\u200cit/config",
    "\ufeff.git/config",
    ".g\u0131t/config",
    ".\u206agit\u2064/config",
    ".git\u00ad/config",
    ".git\u2060/config",
    "\uff0egit/config",
    ".\uff27\uff29\uff34/config",
    ".gi\u0307t/config",
    ".G\u0130T/config",
    ".git./config",
    ".git . ./config",
    ".git::$INDEX_ALLOCATION/config",
    ".git:x/config",
    "git~1/config",
    "GIT~2",
    "gi7eba~1/config",
    "sub\\.git\\config",
    ".git\x01/config",
    ".agentfs/runs/r.jsonl",
    ".hg/hgrc",
    "AGENTF~1/x",
]
SETTINGS = [
    "remora.yaml",
    "Remora.YAML",
    "src/remora.yaml",
    "remora\u200b.yaml",
    "remora.yaml.",
    "REMORA~1.YAM",
    ".remora/agents/own/agent.yaml",
    "src/.Remora/hub/x.pym",
    ".rem\u200dora/agents/own/agent.yaml",
]
ORDINARY = [
    "a.py",
    ".gitignore",
    ".github/workflows/ci.yml",
    ".gitattributes",
    "git/config",
    "src/git.py",
    "src/remora/app.py",
    "remora.yaml.py",
    "docs/remora.md",
    "g\u00edt.py",
    "\u00fcber/gr\u00f6\u00dfer.py",
    "backup~1.txt",
    "a:b.py",
]


CASES = [(RECORDS, "records"), (SETTINGS, "settings"), (ORDINARY, None)]


@pytest.mark.parametrize(
    ("path", "kind"), [(path, kind) for paths, kind in CASES for path in paths]
)
def test_names_of_records_and_settings_are_reserved(path: str, kind: str | None) -> None:
    assert reserved(path) == kind
