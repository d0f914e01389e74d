"""Who owns a file, by the rules of CODEOWNERS."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from remora.errors import ConfigError
from remora.files.code_owners import parse_code_owners, read_code_owners
from tests.cli.conftest import write
from tests.odd_files import ODD, link_out

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


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


@pytest.mark.parametrize("place", ["CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS"])
@pytest.mark.parametrize("make", [*ODD, link_out])
def test_what_is_not_a_text_file_of_the_repository_is_an_error_at_once(
    repository: Path, place: str, make: Callable[[Path], None]
) -> None:
    path = repository / place
    path.parent.mkdir(exist_ok=True)
    make(path)
    with pytest.raises(
        ConfigError, match=f"{place}: (not a regular|2,048.0 MiB, larger than|a link)"
    ):
        read_code_owners(repository)


def test_a_link_in_the_repository_is_followed(repository: Path) -> None:
    write(repository, {"docs/owners": "* @docs\n"})
    (repository / "CODEOWNERS").symlink_to("docs/owners")
    assert read_code_owners(repository).of("x.py") == ("@docs",)


def test_a_configured_work_tree_elsewhere_names_no_owners(repository: Path) -> None:
    other = repository.with_name("other")
    write(other, {"CODEOWNERS": "* @other\n"})
    setting = ["git", "config", "core.worktree", str(other)]
    subprocess.run(setting, cwd=repository, check=True)
    assert read_code_owners(repository).of("x.py") == ()


@pytest.mark.parametrize("line", ["a" * 2_900_000, "[" * 2_900_000, "[a]" * 900_000])
def test_a_line_longer_than_any_path_costs_nothing(line: str) -> None:
    began = time.process_time()
    assert parse_code_owners(f"{line} @long\n* @all").of("a.py") == ("@all",)
    assert time.process_time() - began < 1


def test_rules_that_are_not_tried_are_not_compiled() -> None:
    rules = "".join(f"{number:x} @{number}\n" for number in range(100_000))
    began = time.process_time()
    assert parse_code_owners(f"{rules}* @all").of("a.py") == ("@all",)
    assert time.process_time() - began < 3
