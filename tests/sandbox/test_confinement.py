"""A confinement as paths: real ones, none twice, and the links that lead to them."""

from pathlib import Path

import pytest

from remora.sandbox.confinement import Confinement, ResolvedPaths, resolve_paths
from remora.sandbox.interpreters import interpreter_paths


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def made(here: Path, *names: str) -> list[Path]:
    paths = [here / name for name in names]
    for path in paths:
        path.mkdir(parents=True)
    return paths


def below(here: Path, paths: tuple[str, ...]) -> set[str]:
    return {path.removeprefix(f"{here}/") for path in paths if path.startswith(f"{here}/")}


def test_the_folder_can_always_be_read(here: Path) -> None:
    (folder,) = made(here, "a")
    assert below(here, resolve_paths(Confinement(), folder).read) == {"a"}


def test_duplicate_paths_are_removed(here: Path) -> None:
    a, inner, b = made(here, "a", "a/inner", "ab")
    paths = resolve_paths(Confinement(read=(inner, a, b, a)), a)
    assert below(here, paths.read) == {"a", "ab"}


def test_writable_paths_are_readable(here: Path) -> None:
    a, inner, b, in_b = made(here, "a", "a/inner", "b", "b/inner")
    paths = resolve_paths(Confinement(read=(inner, in_b), write=(a,), scratch=(b,)), a)
    assert below(here, paths.read) == set()
    assert (below(here, paths.write), below(here, paths.scratch)) == ({"a"}, {"b"})


def test_a_part_of_what_is_read_can_be_written(here: Path) -> None:
    a, inner = made(here, "a", "a/inner")
    paths = resolve_paths(Confinement(read=(a,), write=(inner,)), a)
    assert (below(here, paths.read), below(here, paths.write)) == ({"a"}, {"a/inner"})


def test_missing_paths_grant_nothing(here: Path) -> None:
    paths = resolve_paths(Confinement(read=(here / "none",), write=(here / "gone",)), here)
    assert below(here, paths.read) == set()
    assert paths.write == ()


def test_links_are_followed_one_by_one(here: Path) -> None:
    made(here, "real/bin")
    (here / "real" / "bin" / "tool").write_text("x")
    (here / "first").symlink_to("second")
    (here / "second").symlink_to(here / "real")
    (folder,) = made(here, "folder")
    paths = resolve_paths(Confinement(read=(here / "first" / "bin" / "tool",)), folder)
    assert below(here, paths.read) == {"folder", "real/bin/tool"}
    assert links(here, paths) == {"first": "second", "second": f"{here}/real"}


def test_a_link_within_what_is_shown_is_shown_with_it(here: Path) -> None:
    a, real = made(here, "a", "a/real")
    (a / "link").symlink_to("real")
    paths = resolve_paths(Confinement(read=(a, a / "link", real)), a)
    assert links(here, paths) == {}


def test_links_in_a_circle_end(here: Path) -> None:
    (here / "one").symlink_to("other")
    (here / "other").symlink_to("one")
    (folder,) = made(here, "folder")
    assert below(here, resolve_paths(Confinement(read=(here / "one",)), folder).read) <= {
        "folder", "one", "other",
    }  # fmt: skip


def links(here: Path, paths: ResolvedPaths) -> dict[str, str]:
    found = paths.links.items()
    return {path.removeprefix(f"{here}/"): to for path, to in found if path.startswith(str(here))}


class TestInterpreter:
    """What may be read for the sake of an interpreter is an installation, and no more."""

    @pytest.fixture
    def base(self, here: Path) -> Path:
        made(here, "opt/bin", "opt/lib/python3.12", "opt/private")
        (here / "opt" / "lib" / "python3.12" / "os.py").write_text("")
        (here / "opt" / "bin" / "python3").write_text("")
        return here / "opt"

    @pytest.fixture
    def venv(self, here: Path, base: Path) -> Path:
        made(here, "venv/bin", "venv/lib/python3.12/site-packages", "elsewhere")
        venv = here / "venv"
        (venv / "bin" / "python").symlink_to(base / "bin" / "python3")
        (venv / "pyvenv.cfg").write_text(f"home = {base}/bin\n")
        packages = venv / "lib" / "python3.12" / "site-packages"
        (packages / "editable.pth").write_text(f"{here}/elsewhere\nimport x\nrelative\n")
        return venv

    def names(self, here: Path, found: tuple[Path, ...]) -> set[str]:
        return {str(path.relative_to(here)) for path in found}

    def test_an_environment_and_what_it_was_made_from(self, here: Path, venv: Path) -> None:
        found = self.names(here, interpreter_paths(venv / "bin" / "python", trusted=False))
        assert found == {
            "venv/bin/python", "venv/bin", "venv/lib", "venv/pyvenv.cfg", "opt/bin", "opt/lib",
        }  # fmt: skip

    def test_external_packages_are_readable_only_with_trust(self, here: Path, venv: Path) -> None:
        python = venv / "bin" / "python"
        assert here / "elsewhere" not in interpreter_paths(python, trusted=False)
        assert here / "elsewhere" in interpreter_paths(python, trusted=True)

    def test_a_link_shows_nothing_but_an_installation(self, here: Path) -> None:
        made(here, "home/.ssh", "home/bin", "project/.venv/bin")
        (here / "home" / "bin" / "python").write_text("")
        python = here / "project" / ".venv" / "bin" / "python"
        python.symlink_to(here / "home" / "bin" / "python")
        assert interpreter_paths(python, trusted=False) == (python,)

    def test_a_part_that_is_a_link_out_of_it_shows_nothing(self, here: Path, venv: Path) -> None:
        made(here, "home/.ssh")
        (venv / "lib64").symlink_to("../home/.ssh")
        (venv / "include").symlink_to(here / "home")
        found = interpreter_paths(venv / "bin" / "python", trusted=False)
        assert not {venv / "lib64", venv / "include"} & set(found)

    def test_a_settings_file_shows_nothing_but_an_installation(self, here: Path) -> None:
        made(here, "home/.ssh", "project/.venv/bin", "project/.venv/lib/python3.12")
        environment = here / "project" / ".venv"
        (environment / "bin" / "python").write_text("")
        (environment / "pyvenv.cfg").write_text(f"home = {here}/home/.ssh\n")
        found = interpreter_paths(environment / "bin" / "python", trusted=False)
        assert all(path.is_relative_to(environment) for path in found)
