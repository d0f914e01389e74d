"""Names by which a project's modules are imported."""

SOURCE_ROOTS = ("src", "lib", "python")
"""Folders that hold a project's packages, and are no package."""


def module_name(path: str) -> str:
    """Return the name of a module, or an empty string for scripts such as `setup.py`."""
    parts = path.removesuffix(".py").split("/")
    if path.endswith(".pyi") or parts[-1] in ("__main__", "setup", "conftest"):
        return ""
    parts = parts[1 if parts[0] in SOURCE_ROOTS else 0 :]
    parts = parts[:-1] if parts[-1:] == ["__init__"] else parts
    return ".".join(parts) if all(part.isidentifier() for part in parts) else ""
