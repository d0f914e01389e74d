"""The list of a sweep's repositories."""

from pathlib import Path

import pytest

from remora.config.repository_list import ListedRepository, read_repository_list
from remora.errors import ConfigError


def written(folder: Path, text: str) -> Path:
    path = folder / "repos.yaml"
    path.write_text(text)
    return path


def test_addresses_are_cloned_and_paths_are_used_as_they_are(tmp_path: Path) -> None:
    listed = read_repository_list(
        written(
            tmp_path,
            """
            clones: work
            repositories:
              - https://git.example.com/team/shop.git
              - git@git.example.com:team/web.git
              - ../tools
              - {url: "ssh://git.example.com/mono", name: api, ref: release-2, folder: services/api}
            """,
        )
    )
    here = tmp_path.resolve()
    https, ssh = "https://git.example.com/team/shop.git", "git@git.example.com:team/web.git"
    assert listed == (
        ListedRepository(name="shop", url=https, clone=str(here / "work/shop")),
        ListedRepository(name="web", url=ssh, clone=str(here / "work/web")),
        ListedRepository(name="tools", url="", clone=str(here.parent / "tools")),
        ListedRepository(
            name="api",
            url="ssh://git.example.com/mono",
            clone=str(here / "work/api"),
            ref="release-2",
            folder="services/api",
        ),
    )
    assert listed[3].root == here / "work/api/services/api"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("repositories: []\n", "repositories"),
        ("{}\n", "missing key repositories"),
        ("repositories:\n- http://x/a\n", "expected an address with https://"),
        ("repos: [a]\n", "unknown key repos (did you mean repositories?)"),
        ("repositories:\n- a\n- b/a\n", "repos.yaml:3:3: a second repository named a"),
        ("repositories:\n- {url: 'https://x/a', path: a}\n", "either a url or a path"),
        ("repositories:\n- {name: a}\n", "either a url or a path"),
        ("repositories:\n- {path: a, ref: main}\n", "ref needs a url"),
        ("repositories:\n- {url: 'https://me:secret@x/a'}\n", "without a user name or token"),
        ("repositories:\n- {url: 'https://token@x/a'}\n", "without a user name or token"),
        ("repositories:\n- a\n- {name: b, path: ./a}\n", "b is the same folder as a"),
        ("repositories:\n- ~no-such-user/a\n", "repos.yaml:2:3: ~no-such-user/a"),
        ("repositories:\n- {url: 'ext::sh -c x'}\n", "expected an address"),
        ("repositories:\n- {url: 'https://x/a', ref: '--upload-pack=x'}\n", "ref"),
        ("repositories:\n- {path: a, folder: ../b}\n", "expected a folder in the repository"),
        ("repositories:\n- /\n", "cannot be the repository's name"),
    ],
)
def test_mistakes_are_reported_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_repository_list(written(tmp_path, text))
    assert message in raised.value.message
    assert "repos.yaml:" in raised.value.message
