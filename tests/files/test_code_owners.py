"""Who owns a file, by the rules of CODEOWNERS."""

import subprocess
from pathlib import Path

import pytest

from remora.files.code_owners import parse_code_owners, read_code_owners
from tests.cli.conftest import write

RULES = """
# comment
*                 @all
*.js              @js      # a comment behind a rule
/build/logs/      @logs mail@example.com
docs/*            @docs
apps/             @apps
/scripts/**/*.py  @scripts
**/tests          @tests
with\\ space.txt   @space
/apps/free
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("a.py", ("@all",)),
        ("deep/down/a.js", ("@js",)),
        ("build/logs/x/y.txt", ("@logs", "mail@example.com")),
        ("deep/build/logs/x.txt", ("@all",)),
        ("docs/page.md", ("@docs",)),
        ("docs/more/page.md", ("@all",)),
        ("deep/apps/x.py", ("@apps",)),
        ("scripts/x.py", ("@scripts",)),
        ("scripts/a/b/x.py", ("@scripts",)),
        ("a/tests/b/test_x.py", ("@tests",)),
        ("with space.txt", ("@space",)),
        ("apps/free", ()),
        ("apps/free/x.py", ()),
    ],
)
def test_the_last_rule_that_matches_names_the_owners(path: str, owners: tuple[str, ...]) -> None:
    assert parse_code_owners(RULES).of(path) == owners


def test_each_section_adds_owners_and_has_a_default() -> None:
    found = parse_code_owners(
        "* @all\n[Python][2] @python\n*.py\nsetup.py @build\n^[Docs]\n*.md @d"
    )
    assert found.of("a.py") == ("@all", "@python")
    assert found.of("setup.py") == ("@all", "@build")
    assert found.of("a.md") == ("@all", "@d")


def test_patterns_are_relative_to_the_repository(tmp_path: Path) -> None:
    write(tmp_path, {".github/CODEOWNERS": "/api/ @api\n", "CODEOWNERS": "* @ignored\n"})
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "api").mkdir()
    assert read_code_owners(tmp_path / "api").of("x.py") == ("@api",)
    assert read_code_owners(tmp_path).of("x.py") == ()


def test_a_folder_without_the_file_has_no_owners(tmp_path: Path) -> None:
    assert read_code_owners(tmp_path).of("x.py") == ()


@pytest.mark.timeout(5)
def test_hostile_patterns_are_answered_quickly() -> None:
    found = parse_code_owners("/" + "**/a*" * 40 + "b @x\n")
    assert found.of("a/" * 200 + "c") == ()
