"""Five layers become one Config, and every fault is named with its place."""

import os
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from remora.bootstrap.invocation import Invocation, is_configured, open_config, open_with_places
from remora.bootstrap.operations import BUILT_IN
from remora.config.loading import api_key, api_keys, config_schema, load_config
from remora.config.messages import known_keys
from remora.config.schema import Config, default_config
from remora.config.user_folders import UserFolders, make_private
from remora.errors import ConfigError, DiskError


class Files:
    """The two files of one user and one project."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "config.yaml"
        self.project = folder / "remora.yaml"

    def load(
        self,
        *,
        user: str | bytes | None = None,
        project: str | bytes | None = None,
        environ: dict[str, str] | None = None,
        flags: dict[str, Any] | None = None,
    ) -> Config:
        return load_config(
            user_file=write(self.user, user),
            project_file=write(self.project, project),
            environ=environ or {},
            flags=flags or {},
            operations=BUILT_IN.settings,
        )[0]

    def fault(self, **layers: Any) -> str:
        """The error's message without the folder's name, and its hint."""
        with pytest.raises(ConfigError) as caught:
            self.load(**layers)
        assert caught.value.exit_code == 2
        message = caught.value.message.replace(f"{self.user.parent}/", "")
        return f"{message} [{caught.value.hint}]"


def write(path: Path, text: str | bytes | None) -> Path | None:
    if text is None:
        return None
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_config_is_frozen() -> None:
    with pytest.raises(ValidationError):
        Config().runner.max_turns = 1


def test_each_layer_overrides_the_one_below(files: Files) -> None:
    layers: dict[str, Any] = {
        "user": "runner: {max_turns: 1}\nmodel: {retries: 1, max_concurrency: 3}\nhub: {memory_mb: 99}",
        "project": "runner: {max_turns: 2}\nmodel:\n  retries: 2\n",
        "environ": {"REMORA_RUNNER__MAX_TURNS": "3"},
        "flags": {"runner.max_turns": 4},
    }
    found = []
    while layers:
        config = files.load(**layers)
        found.append((config.runner.max_turns, config.model.retries, config.hub.memory_mb))
        layers.popitem()
    assert found == [(4, 2, 99), (3, 2, 99), (2, 2, 99), (1, 1, 99)]


@pytest.mark.parametrize(
    ("name", "value", "key", "expected"),
    [
        (
            "REMORA_RUNNER__MEMORY__RETENTION__KEEP_DAYS",
            "7",
            "runner.memory.retention.keep_days",
            7,
        ),
        ("REMORA_EXCLUDE", "[a/*, b]", "exclude", ("a/*", "b")),
        ("REMORA_PYTHON", "/usr/bin/python3", "python", "/usr/bin/python3"),
        ("REMORA_PYTHON", "", "python", None),
        ("REMORA_MODEL", "{name: x, retries: 0}", "model.name", "x"),
        (
            "REMORA_MODEL__BASE_URL",
            "https://example.org/v1",
            "model.base_url",
            "https://example.org/v1",
        ),
        ("REMORA_HUB__ENABLED", "off", "hub.enabled", False),
        ("REMORA_WORKSPACE__ALLOW_UNSANDBOXED", "true", "workspace.allow_unsandboxed", True),
    ],
)
def test_environment(files: Files, name: str, value: str, key: str, expected: object) -> None:
    found: Any = files.load(environ={name: value})
    for part in key.split("."):
        found = getattr(found, part)
    assert found == expected


def test_an_operation_by_environment_and_flag(files: Files) -> None:
    found = files.load(
        environ={"REMORA_OPERATIONS__LINT__MAX_TURNS": "5"}, flags={"operations.mine.max_turns": 6}
    ).operations
    assert {name: one.max_turns for name, one in found.items()} == {
        "lint": 5,
        "docstring": None,
        "test": None,
        "types": None,
        "mine": 6,
    }


def test_foreign_variables_are_not_ours(files: Files) -> None:
    environ = {"REMORA_PERIOD": "x", "REMORA_API_KEY": "k", "PATH": "/bin", "REMORA": "1"}
    assert files.load(environ=environ) == default_config(BUILT_IN.settings)


def test_a_flag_of_none_was_not_given_and_any_sequence_is_a_list(files: Files) -> None:
    config = files.load(flags={"runner.max_turns": None, "exclude": ("a", "b")})
    assert (config.runner.max_turns, config.exclude) == (12, ("a", "b"))


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "{}", "runner:\nmodel:\n", "\ufeff{}"]
)
def test_files_with_nothing_in_them(files: Files, text: str) -> None:
    assert files.load(project=text, user=text) == default_config(BUILT_IN.settings)


def test_no_model_is_a_word(files: Files) -> None:
    made = files.load(user="model: {retries: 2}", project="model: none")
    assert (made.model.provider, made.model.retries) == ("none", 2)
    assert made.layer_of("model", "provider") == "project"


@pytest.mark.parametrize(
    ("memory", "mode"),
    [
        ("{enabled: true, trace_indexing: [node, run, operation]}", "packets"),
        ("{enabled: false}", "raw"),
        ("{enabled: false, mode: masked}", "masked"),
        ("{trace_indexing: []}", "packets"),
    ],
)
def test_settings_of_the_concept_papers_are_always_on(files: Files, memory: str, mode: str) -> None:
    assert files.load(project=f"runner: {{memory: {memory}}}").runner.memory.mode == mode


def test_a_layer_above_turns_packets_on_again(files: Files) -> None:
    user, above = "runner: {memory: {enabled: false}}", {"REMORA_RUNNER__MEMORY__ENABLED": "true"}
    assert files.load(user=user).layer_of("runner", "memory", "mode") == "user"
    assert files.load(user=user, environ=above).runner.memory.mode == "packets"
    flags = {"runner.memory.enabled": False}
    assert files.load(environ=above, flags=flags).runner.memory.mode == "raw"


def test_an_operation_with_nothing_after_it(files: Files) -> None:
    assert files.load(project="operations:\n  mine:\n").operations["mine"].max_turns is None


FAULTS = [
    ("runner:\n  max_trun: 3\n", "remora.yaml:2:3: unknown key runner.max_trun (did you mean 'runner.max_turns'?)"),
    ("max_turns: 3", "remora.yaml:1:1: unknown key max_turns (did you mean 'runner.max_turns'?)"),
    ("keep_days: 3", "unknown key keep_days (did you mean 'runner.memory.retention.keep_days'?)"),
    ("\ufeffpython: 3", "remora.yaml:1:9: python: expected a string, got 3"),
    ("modell: {}", "remora.yaml:1:1: unknown key modell (did you mean 'model'?)"),
    ("operations: {lint: {turns: 1}}", "1:21: unknown key operations.lint.turns (did you mean 'operations.lint.max_turns'?)"),
    ("runner:\n  max_turns: many\n", "remora.yaml:2:14: runner.max_turns: expected an integer, got 'many'"),
    ("runner: {max_turns: '3'}", "1:21: runner.max_turns: expected an integer, got '3'"),
    ("runner: {max_turns: 2.5}", "expected an integer, got 2.5"),
    ("runner: {max_turns: true}", "expected an integer, got True"),
    ("runner: {max_turns: 0}", "expected greater than or equal to 1, got 0"),
    ("runner: {max_turns: }", "expected an integer, got nothing"),
    ("model: {timeout_s: .nan}", "model.timeout_s: expected a finite number, got nan"),
    ("model: {name: ''}", "model.name: expected a non-empty string, got ''"),
    ("model: {name: 'http://evil.example'}", "1:15: model.name: expected a model name (set an address in base_url instead)"),
    ("runner: {memory: {enabled: 'on'}}", "1:28: runner.memory.enabled: expected true or false, got 'on'"),
    ("runner: {memory: {trace_indexing: [file]}}", "expected 'node', 'run' or 'operation', got 'file'"),
    ("runner: {memory: {trace_indexing: node}}", "trace_indexing: expected a list, got 'node'"),
    ("runner: {memory: {durability: all}}", "1:31: runner.memory.durability: expected 'event', 'turn' or 'none', got 'all'"),
    ("hub: {enabled: 3}", "1:16: hub.enabled: expected 'auto' or true or false, got 3"),
    ("exclude: src", "1:10: exclude: expected a list, got 'src'"),
    ("exclude: [1]", "1:11: exclude.0: expected a string, got 1"),
    ("model: fast", "1:8: model: expected a mapping, got 'fast'"),
    ("operations: {lint: {style: google}}", "1:21: unknown key operations.lint.style (did you mean 'operations.docstring.style'?)"),
    ("operations: {docstring: {styel: google}}", "1:26: unknown key operations.docstring.styel (did you mean 'operations.docstring.style'?)"),
    pytest.param(  # ruff is asked
        "operations: {lint: {select: [F, Q9]}}", "1:29: operations.lint.select: expected rules of ruff ", marks=pytest.mark.process
    ),
    ("operations: {docstring: {style: x}}", "1:33: operations.docstring.style: expected 'google', 'numpy' or 'rest', got 'x'"),
    ("operations: {lint: 3}", "1:20: operations.lint: expected a mapping, got 3"),
    ("operations: {A b: {}}", "1:14: operations.A b is not a valid name"),
    ("- a\n- b\n", "remora.yaml:1:1: expected a mapping of keys"),
    ("just words", "remora.yaml:1:1: expected a mapping of keys"),
    ("model: {a: [}", "remora.yaml:1:13: "),
    ("a: 1\n b: 2", "remora.yaml:2:3: mapping values are not allowed here"),
    ("a:\n\t- b", "remora.yaml:2:1: found character '\\t' that cannot start any token"),
    ("python: a\nexclude: []\npython: b\n", "remora.yaml:3:1: duplicate key python, first used at remora.yaml:1:1"),
    ("model: {name: a, name: b}", "remora.yaml:1:18: duplicate key name"),
    ("1: 2", "remora.yaml:1:1: a key must be a string"),
    ("[a]: 2", "remora.yaml:1:1: a key must be a string"),
    ("on: 2", "remora.yaml:1:1: a key must be a string"),
    ("<<: {python: a}", "remora.yaml:1:1: unknown key <<"),
    ("python: &a x\nexclude: [*a]", "remora.yaml:2:11: aliases are not supported"),
    ("python: !!python/name:os.system x", "remora.yaml:1:9: could not determine a constructor"),
    ("model: !!set {a}", "remora.yaml:1:8: the tag tag:yaml.org,2002:set is not supported"),
    ("python: 2001-99-99", "remora.yaml:1:9: '2001-99-99' is not a valid value"),
    ("python: a\n---\npython: b", "remora.yaml:2:1: but found another document"),
    ("[" * 1000, "remora.yaml: nested too deeply"),
    ("python: é\npython: \x07", "remora.yaml:2:9: character not allowed in YAML"),
    ("#" * 1_100_000, "remora.yaml: larger than 1 MiB"),
    (b"\xef\xbb\xbfpython: \xc3\xa9\nx: \xff", "remora.yaml:2:4: not UTF-8 text"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), FAULTS, ids=lambda value: str(value)[:40])
def test_a_fault_in_a_file_is_named_with_its_place(
    files: Files, text: str | bytes, message: str
) -> None:
    assert message in files.fault(project=text)


def test_every_fault_of_a_file_is_named(files: Files) -> None:
    message = files.fault(user="python: 3\nrunner:\n  max_turns: x\nfoo: 1\n")
    assert [line.partition(" ")[0] for line in message.splitlines()] == [
        "config.yaml:3:14:",
        "config.yaml:1:9:",
        "config.yaml:4:1:",
    ]


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"REMORA_RUNNER__MAX_TRUN": "1"}, "REMORA_RUNNER__MAX_TRUN: unknown key runner.max_trun (did you mean 'runner.max_turns'?)"),
        ({"REMORA_RUNNER__MAX_TURNS": "x"}, "REMORA_RUNNER__MAX_TURNS: runner.max_turns: expected an integer, got 'x'"),
        ({"REMORA_EXCLUDE": "[a"}, "REMORA_EXCLUDE:1:3: "),
        ({"REMORA_RUNNER": "fast"}, "REMORA_RUNNER: runner: expected a mapping, got 'fast'"),
        ({"REMORA_MODEL": "{nam: x}"}, "REMORA_MODEL: unknown key model.nam"),
        ({"REMORA_NO__SUCH": "1"}, "REMORA_NO__SUCH: unknown key no"),
        ({"REMORA_PYTHON": "\udcff"}, "REMORA_PYTHON:1:1: not UTF-8 text"),
    ],
)  # fmt: skip
def test_a_fault_in_the_environment(files: Files, environ: dict[str, str], message: str) -> None:
    assert message in files.fault(environ=environ)


def test_a_fault_in_a_flag(files: Files) -> None:
    assert "flag runner.max_turns: runner.max_turns: expected" in files.fault(
        flags={"runner.max_turns": 0}
    )
    assert "flag runner.turns: unknown key runner.turns" in files.fault(flags={"runner.turns": 1})


def test_a_fault_is_its_own_layers(files: Files) -> None:
    message = files.fault(user="python: x", project="\npython: 3", flags={"python": "y"})
    assert message.startswith("remora.yaml:2:9: python:")


def test_files_that_cannot_be_read(files: Files, tmp_path: Path) -> None:
    folder, pipe, link = tmp_path / "folder", tmp_path / "pipe", tmp_path / "link"
    folder.mkdir()
    os.mkfifo(pipe)
    link.symlink_to("gone.yaml")
    for path, kind in {
        tmp_path / "gone.yaml": "no such file",
        folder: "a folder, not a file",
        pipe: "a pipe (FIFO), not a file",
        link: "a broken link",
        Path("/dev/null"): "a device, not a file",
    }.items():
        with pytest.raises(ConfigError) as raised:
            load_config(
                user_file=None,
                project_file=path,
                environ={},
                flags={},
                operations=BUILT_IN.settings,
            )[0]
        assert raised.value.message == f"{path}: {kind}"
    with pytest.raises(DiskError, match="too long"):
        load_config(
            user_file=None,
            project_file=tmp_path / ("x" * 999),
            environ={},
            flags={},
            operations=BUILT_IN.settings,
        )[0]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["runner", "model", "memory", "hub", "name", "max_turns", "x"]),
                inner,
            )
        ),
    )
)
def test_flags_give_a_config_or_an_error(value: object) -> None:
    """Whatever is set, the answer is one of two, and the error says where."""
    for key in ("runner", "model.name", "operations", "exclude", "x.y"):
        try:
            config = load_config(
                user_file=None,
                project_file=None,
                environ={},
                flags={key: value},
                operations=BUILT_IN.settings,
            )[0]
        except ConfigError as refused:
            assert_names(refused, f"flag {key}: ")
        else:
            assert (
                Config.model_validate(config.model_dump(mode="json"), context=BUILT_IN.settings)
                == config
            )


def assert_names(refused: ConfigError, place: str) -> None:
    lines = refused.message.splitlines()
    assert lines
    assert all(line.startswith(place) for line in lines)


def test_the_api_key_by_order_of_its_sources(tmp_path: Path) -> None:
    user_file = tmp_path / "config.yaml"
    user_file.write_text("model: {api_key: in-file}")
    environ = {"REMORA_API_KEY": "ours", "OPENAI_API_KEY": "theirs"}
    found = [api_key(api_keys(environ, user_file, "model"), "user")]
    for name in list(environ):
        del environ[name]
        found.append(api_key(api_keys(environ, user_file, "model"), "user"))
    assert found == ["ours", "theirs", "in-file"]
    assert api_keys({"REMORA_API_KEY": " "}, None, "model") == {}
    user_file.write_text("model:\n")
    assert api_keys({}, user_file, "model") == {}


def test_each_address_has_a_key_of_its_own(tmp_path: Path) -> None:
    user_file = tmp_path / "config.yaml"
    user_file.write_text("escalation: {api_key: in-file}")
    environ = {"REMORA_API_KEY": "ours", "OPENAI_API_KEY": "theirs"}
    assert api_keys(environ, user_file, "escalation") == {"user": "in-file"}
    environ["REMORA_ESCALATION_API_KEY"] = "larger"
    assert api_key(api_keys(environ, user_file, "escalation"), "user") == "larger"
    assert api_keys(environ, user_file, "model") == {"environment": "ours"}


@pytest.mark.parametrize("layer", ["project", "default", None])
def test_no_key_for_an_address_that_is_not_the_users(layer: str | None) -> None:
    assert api_key({"environment": "ours", "user": "in-file"}, layer) is None


def test_the_layer_of_each_value(files: Files) -> None:
    config = files.load(
        user="model: {base_url: 'http://127.0.0.1:1/v1'}",
        project="model: {base_url: 'http://127.0.0.1:2/v1', name: x}",
        environ={"REMORA_MODEL": "{name: y}"},
        flags={"runner.max_turns": 3},
    )
    assert config.layer_of("model", "base_url") == "project"
    assert config.layer_of("model", "name") == "environment"
    assert config.layer_of("runner", "max_turns") == "flag"
    assert config.layer_of("python") is None


def test_an_api_key_that_is_not_text_is_not_shown(tmp_path: Path) -> None:
    user_file = tmp_path / "config.yaml"
    user_file.write_text("model: {api_key: 123456}")
    with pytest.raises(ConfigError, match=r"config\.yaml:1:18: model\.api_key: expected a string$"):
        api_keys({}, user_file, "model")


def test_the_users_api_key_is_not_part_of_the_config(files: Files) -> None:
    config = files.load(
        user="{model: {api_key: hidden, name: x}, escalation: {api_key: hidden, name: y}}"
    )
    assert (config.model.name, config.escalation.name) == ("x", "y")
    assert "hidden" not in repr(config) + config.model_dump_json()


@pytest.mark.parametrize(
    ("layer", "variable"),
    [
        ({"flags": {"model.api_key": "hidden"}}, "REMORA_API_KEY"),
        ({"flags": {"model": {"api_key": "hidden"}}}, "REMORA_API_KEY"),
        ({"environ": {"REMORA_MODEL__API_KEY": "hidden"}}, "REMORA_API_KEY"),
        ({"environ": {"REMORA_MODEL": "{api_key: hidden}"}}, "REMORA_API_KEY"),
        ({"project": "model: {api_key: hidden}"}, "REMORA_API_KEY"),
        ({"flags": {"escalation.api_key": "hidden"}}, "REMORA_ESCALATION_API_KEY"),
        ({"environ": {"REMORA_ESCALATION__API_KEY": "hidden"}}, "REMORA_ESCALATION_API_KEY"),
        ({"project": "escalation: {api_key: hidden}"}, "REMORA_ESCALATION_API_KEY"),
    ],
)
def test_an_api_key_from_elsewhere_is_refused(
    files: Files, layer: dict[str, Any], variable: str
) -> None:
    message = files.fault(**layer)
    assert variable in message
    assert "hidden" not in message


def caller(tmp_path: Path) -> Invocation:
    return Invocation(environ={"HOME": str(tmp_path / "home")}, folder=tmp_path)


def in_pyproject(tmp_path: Path, table: str) -> Path:
    root = tmp_path / "project"
    root.mkdir(exist_ok=True)
    (root / "pyproject.toml").write_text(f'[project]\nname = "x"\n{table}')
    return root


def test_pyproject_settings_apply(tmp_path: Path) -> None:
    root = in_pyproject(
        tmp_path, '[tool.remora]\nexclude = ["a/"]\n[tool.remora.runner]\nmax_turns = 5\n'
    )
    config, places = open_with_places(caller(tmp_path), root)
    assert config.runner.max_turns == 5
    assert config.exclude == ("a/",)
    assert places["runner", "max_turns"] == f"{root}/pyproject.toml [tool.remora]"
    assert is_configured(caller(tmp_path), root)


@pytest.mark.parametrize("table", ["", "[tool.other]\nremora = 1\n", '[x]\ny = "[tool.remora]"\n'])
def test_without_it_nothing_is_set(tmp_path: Path, table: str) -> None:
    root = in_pyproject(tmp_path, table)
    assert open_config(caller(tmp_path), root) == open_config(caller(tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("[tool.remora]\nmax_turn = 3\n", "unknown key max_turn"),
        ('[tool.remora.model]\nbase_url = "http://models.test/v1"\n', "a project cannot set"),
        ('[tool.remora.model]\napi_key = "k"\n', "a project cannot set a key"),
        ("[tool.remora.workspace]\nallow_unsandboxed = true\n", "a project cannot set consent"),
        ("[tool.remora\n", "pyproject.toml"),
        ("[tool]\nremora = 3\n[tool.remora2]\n", "expected a mapping"),
    ],
)
def test_what_is_wrong_or_not_a_projects_is_refused(tmp_path: Path, table: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        open_config(caller(tmp_path), in_pyproject(tmp_path, table))


def test_beside_a_file_it_is_an_error(tmp_path: Path) -> None:
    root = in_pyproject(tmp_path, "[tool.remora]\nexclude = []\n")
    (root / "remora.yaml").write_text("exclude: []\n")
    with pytest.raises(ConfigError, match="this project is configured in both"):
        open_config(caller(tmp_path), root)


def test_a_link_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    root = in_pyproject(tmp_path, "")
    outside = tmp_path / "outside.toml"
    outside.write_text("[tool.remora.runner]\nmax_turns = 5\n")
    (root / "pyproject.toml").unlink()
    (root / "pyproject.toml").symlink_to(outside)
    assert open_config(caller(tmp_path), root).runner.max_turns == 12


GENERATE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "generate.py"))
commented_yaml: Callable[[object], str] = GENERATE["commented_yaml"]


def uncommented() -> str:
    return "".join(
        line.removeprefix("# ")
        for line in commented_yaml(BUILT_IN.settings).splitlines(keepends=True)
    )


def sections(model: BaseModel) -> list[BaseModel]:
    inner = [value for _, value in model if isinstance(value, BaseModel)]
    return [model, *(found for one in inner for found in sections(one))]


def test_as_it_is_written_it_sets_nothing(tmp_path: Path) -> None:
    path = tmp_path / "remora.yaml"
    path.write_text(commented_yaml(BUILT_IN.settings))
    assert yaml.safe_load(commented_yaml(BUILT_IN.settings)) is None
    assert load_config(
        user_file=path, project_file=path, environ={}, flags={}, operations=BUILT_IN.settings
    )[0] == default_config(BUILT_IN.settings)


def test_uncommented_it_is_every_default(tmp_path: Path) -> None:
    path = tmp_path / "remora.yaml"
    path.write_text(uncommented())
    assert load_config(
        user_file=path, project_file=None, environ={}, flags={}, operations=BUILT_IN.settings
    )[0] == default_config(BUILT_IN.settings)
    assert dotted(yaml.safe_load(uncommented())) == {
        key
        for key in known_keys(Config, where=())
        if "NAME" not in key and not key.startswith("redaction.rules.")
    } | {f"operations.{name}" for name in ("lint", "docstring", "test", "types")}


def dotted(value: dict[str, Any], before: str = "") -> set[str]:
    found = {before + key for key in value}
    for key, inner in value.items():
        if isinstance(inner, dict):
            found |= dotted(inner, f"{before}{key}.")
    return found


def test_every_key_has_a_meaning() -> None:
    assert max(map(len, commented_yaml(BUILT_IN.settings).splitlines())) <= 80
    missing = [
        f"{type(section).__name__}.{name}"
        for section in sections(default_config(BUILT_IN.settings))
        for name, field in type(section).model_fields.items()
        if not field.description
    ]
    assert missing == []


def test_the_schema_takes_the_defaults_and_refuses_an_unknown_key() -> None:
    schema = config_schema(BUILT_IN.settings)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    assert validator.is_valid(yaml.safe_load(uncommented()))
    assert validator.is_valid({"runner": {"max_turns": 3}})
    assert validator.is_valid({"operations": {"docstring": {"style": "numpy"}, "mine": {}}})
    assert not validator.is_valid({"operations": {"lint": {"style": "numpy"}}})
    assert not validator.is_valid({"operations": {"A b": {}}})
    for wrong in ("{runer: {}}", "{runner: {max_turns: x}}", "{model: {api_key: x}}"):
        assert not validator.is_valid(yaml.safe_load(wrong))
    assert schema["$defs"]["RunnerConfig"]["properties"]["max_turns"]["description"]


def test_below_home_where_nothing_else_is_said() -> None:
    folders = UserFolders.from_environ({"HOME": "/home/u", "XDG_CACHE_HOME": ""})
    assert tuple(map(str, folders)) == (
        "/home/u/.config/remora",
        "/home/u/.cache/remora",
        "/home/u/.local/state/remora",
        "/home/u/.cache/remora/run",
    )
    assert folders.config_file == Path("/home/u/.config/remora/config.yaml")


def test_the_variables() -> None:
    environ = {
        f"XDG_{name}": f"/x/{name}" for name in ("CONFIG_HOME", "CACHE_HOME", "STATE_HOME")
    } | {"XDG_RUNTIME_DIR": "/x/RUN"}
    expected = ("/x/CONFIG_HOME/remora", "/x/CACHE_HOME/remora", "/x/STATE_HOME/remora")
    assert tuple(map(str, UserFolders.from_environ(environ))) == (*expected, "/x/RUN/remora")


def test_relative_values_are_ignored() -> None:
    named = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
    home = {"HOME": "/h"}
    relative = dict.fromkeys(named, "rel/ative")
    assert UserFolders.from_environ(home | relative) == UserFolders.from_environ(home)


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "rel"}, {"HOME": "~"}])
def test_no_home(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="HOME"):
        UserFolders.from_environ(environ)


def test_those_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x/mine")
    assert UserFolders.of_this_process().cache == Path("/x/mine/remora")
    assert UserFolders.of_this_process() == UserFolders.from_environ(os.environ)


def test_what_is_made_is_for_its_user_alone_whatever_the_umask(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    for mask in (0, 0o777):
        before = os.umask(mask)
        try:
            make_private(there / str(mask) / "b" / "c")
            make_private(there / str(mask) / "b" / "c")
        finally:
            os.umask(before)
        made = [there / str(mask), there / str(mask) / "b", there / str(mask) / "b" / "c"]
        assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3
    assert there.stat().st_mode & 0o777 == 0o755
