"""Configuration: defaults, two files, the environment and flags become one frozen record."""

from remora.config.explain import explain, known_keys
from remora.config.folders import UserFolders, make_private
from remora.config.layers import api_key, load_config
from remora.config.marked import Marked, read_yaml, read_yaml_file
from remora.config.schema import (
    Config,
    EscalationConfig,
    HubConfig,
    MemoryConfig,
    ModelConfig,
    OperationConfig,
    RetentionConfig,
    RunnerConfig,
    WorkspaceConfig,
    config_schema,
)
from remora.config.template import commented_yaml
from remora.config.trust import is_loopback

__all__ = [
    "Config",
    "EscalationConfig",
    "HubConfig",
    "Marked",
    "MemoryConfig",
    "ModelConfig",
    "OperationConfig",
    "RetentionConfig",
    "RunnerConfig",
    "UserFolders",
    "WorkspaceConfig",
    "api_key",
    "commented_yaml",
    "config_schema",
    "explain",
    "is_loopback",
    "known_keys",
    "load_config",
    "make_private",
    "read_yaml",
    "read_yaml_file",
]
