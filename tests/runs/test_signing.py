"""A run with the user's key: signed when it begins, and by nobody else afterwards."""

from dataclasses import replace
from pathlib import Path

import pytest

from remora.errors import ConfigError
from remora.memory.events import JobEnd, Review, RunEnd, RunStart
from remora.runs.review.accept_and_reject import accept, reject
from remora.trace.verify.folder_check import verify_all
from remora.trace.verify.head_hmac import Signer, load_signer
from tests.runs.conftest import SHOP, Desk

KEY = "a key of at least sixteen"


def signed_desk(folder: Path) -> tuple[Desk, Signer]:
    """A user with a key in a file, after a run."""
    desk = Desk(folder)
    desk.write(SHOP)
    key = desk.home / "key"
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_text(KEY)
    key.chmod(0o600)
    config = desk.home / ".config" / "remora" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("runner: {memory: {signing_key_file: ~/key}}\n")
    signer = load_signer({"REMORA_SIGNING_KEY": KEY}, None)
    assert signer is not None
    return desk, signer


def test_every_anchor_is_signed_and_can_be_checked(tmp_path: Path) -> None:
    desk, signer = signed_desk(tmp_path)
    run_id = desk.analyze()
    (start,) = desk.payloads(run_id, RunStart)
    assert start.signing == signer.signing
    assert KEY not in desk.project.trace.run_stream(run_id).read_text()
    accept(desk.project, run_id, [], every=True)
    anchors = [*desk.payloads(run_id, JobEnd), *desk.payloads(run_id, Review)]
    anchors += desk.payloads(run_id, RunEnd)
    assert all(anchor.signature for anchor in anchors)
    report = verify_all(desk.project.trace, signer=signer)
    assert report.ok
    assert report.signatures is not None
    assert report.signatures.checked == len(anchors)


def test_without_its_key_nothing_is_appended(tmp_path: Path) -> None:
    desk, signer = signed_desk(tmp_path)
    run_id = desk.analyze()
    before, tree = desk.project.trace.run_stream(run_id).read_bytes(), desk.tree()
    for other in (None, Signer(b"another key of sixteen")):
        stranger = replace(desk.project, signer=other)
        for decide in (accept, reject):
            with pytest.raises(ConfigError, match=signer.name):
                decide(stranger, run_id, [], every=True)
    assert desk.project.trace.run_stream(run_id).read_bytes() == before
    assert desk.tree() == tree


def test_a_run_from_before_the_key_stays_as_it_is(tmp_path: Path) -> None:
    desk, signer = signed_desk(tmp_path)
    desk.__dict__["project"] = replace(desk.project, signer=None)
    (desk.home / ".config" / "remora" / "config.yaml").unlink()
    run_id = desk.analyze()
    reject(replace(desk.project, signer=signer), run_id, [], every=True)
    assert {review.signature for review in desk.payloads(run_id, Review)} == {None}
    report = verify_all(desk.project.trace, signer=signer)
    assert report.ok
    assert report.signatures is not None
    assert report.signatures.unsigned_runs == 1
