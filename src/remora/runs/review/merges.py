"""Change sets merged with files that others changed, by operation."""

from collections.abc import Sequence

import msgspec

from remora.runs.project import Project
from remora.workspaces.apply.transaction import FilePatch, PreparedChanges, prepare_changes


def merged_with_others(project: Project, patches: Sequence[FilePatch]) -> PreparedChanges:
    """Return the change set merged with the user's files, as its operations allow."""
    adapted = [_adapted(project, patch) for patch in patches]
    moved = {new.path for new, old in zip(adapted, patches, strict=True) if new != old}
    prepared = prepare_changes(project.root, adapted)
    writes = [
        msgspec.structs.replace(write, merged=write.merged or write.path in moved)
        for write in prepared.writes
    ]
    return msgspec.structs.replace(prepared, writes=tuple(writes))


def _adapted(project: Project, patch: FilePatch) -> FilePatch:
    for merge in project.operations.merges:
        patch = merge(project.root, patch)
    return patch
