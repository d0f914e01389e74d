"""Merging change sets with files that the user has changed."""

from collections.abc import Sequence

import msgspec

from remora.operations.base import Merge
from remora.runs.project import Project
from remora.workspaces.apply.transaction import FilePatch, PreparedChanges, prepare_changes


def merged_with_others(project: Project, patches: Sequence[FilePatch]) -> PreparedChanges:
    """Merge a change set with the user's files, using the merge rules of all operations."""
    return _merged(project, patches, project.operations.merges)


def removed_from_others(project: Project, reverse: Sequence[FilePatch]) -> PreparedChanges:
    """Merge a reversed change set with the user's files, using the rules of all operations."""
    return _merged(project, reverse, project.operations.unmerges)


def _merged(
    project: Project, patches: Sequence[FilePatch], merges: Sequence[Merge]
) -> PreparedChanges:
    adapted = [_adapt(project, patch, merges) for patch in patches]
    moved = {new.path for new, old in zip(adapted, patches, strict=True) if new != old}
    prepared = prepare_changes(project.root, adapted)
    writes = [
        msgspec.structs.replace(write, merged=write.merged or write.path in moved)
        for write in prepared.writes
    ]
    return msgspec.structs.replace(prepared, writes=tuple(writes))


def _adapt(project: Project, patch: FilePatch, merges: Sequence[Merge]) -> FilePatch:
    for merge in merges:
        patch = merge(project.root, patch)
    return patch
