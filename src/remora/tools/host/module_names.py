"""Names by which a project's modules are imported, and the folders from which they are imported."""

from remora.workspaces.rooted_files import RootedFiles

SOURCE_ROOTS = ("src", "lib", "python")
"""Folders that hold a project's packages, and are no package."""


def import_roots(files: RootedFiles) -> list[str]:
    """Return the folders of a project from which its modules are imported, the root last."""
    folders = filter(files.is_folder, SOURCE_ROOTS)
    return [*(root for root in folders if not files.exists(f"{root}/__init__.py")), ""]


def module_name(path: str) -> str:
    """Return the name of a module, or an empty string for scripts such as `setup.py`."""
    parts = path.removesuffix(".py").split("/")
    if path.endswith(".pyi") or parts[-1] in ("__main__", "setup", "conftest"):
        return ""
    parts = parts[1 if parts[0] in SOURCE_ROOTS else 0 :]
    parts = parts[:-1] if parts[-1:] == ["__init__"] else parts
    return ".".join(parts) if all(part.isidentifier() for part in parts) else ""
