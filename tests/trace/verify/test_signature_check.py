"""Signed runs: an anchor that was not made with the key is a problem."""

from hashlib import sha256
from hmac import new as hmac
from pathlib import Path

import pytest
from msgspec.structs import replace

from remora.errors import ConfigError, DiskError
from remora.memory.events import Head, JobEnd, JobStart, Payload, Review, RunEnd, RunStart
from remora.trace.read.reader import read_lines
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from remora.trace.verify.head_signatures import Signer, load_signer, signer_for, with_signature
from remora.trace.verify.verify_report import VerifyReport
from tests.trace.conftest import AGENT, NODE, RUN, play_agent, rechained

KEY = b"sixteen bytes at least"
SIGNER = Signer(KEY)
OTHER = Signer(b"some other key of theirs")


def play_signed(folder: TraceFolder, signer: Signer | None = SIGNER) -> JsonlEventEmitter:
    """Record a signed run of one accepted job."""
    writer = JsonlEventEmitter.open(
        folder.run_stream(RUN), Identity(RUN), blobs=folder.blobs, objects=folder.objects
    )

    def append(payload: Payload) -> None:
        writer.emit(with_signature(payload, signer, RUN, writer.head), turn=0)

    append(RunStart())
    append(JobStart(agent_id=AGENT, operation="lint", node_id=NODE))
    head = play_agent(folder).end()
    job = JobEnd(agent_id=AGENT, operation="lint", node_id=NODE, status="submitted", head=head)
    append(job)
    append(RunEnd())
    append(Review(verdict="accepted", agent_id=AGENT, head=head))
    append(Review(verdict="rejected", agent_id=AGENT))
    writer.close()
    return writer


def forge(path: Path, number: int, old: bytes, new: bytes) -> None:
    lines = list(read_lines(path))
    assert old in lines[number - 1]
    lines[number - 1] = lines[number - 1].replace(old, new)
    path.write_bytes(rechained(lines))


def problems(report: VerifyReport) -> list[tuple[int, str]]:
    return [(p.line, p.kind) for stream in report.streams for p in stream.problems]


def test_the_signature_is_the_hmac_of_the_anchors_words() -> None:
    head = Head(count=7, hash="ab" * 32)
    text = f"agent lint-1 7 {'ab' * 32}"
    assert SIGNER.sign("agent", "lint-1", head) == hmac(KEY, text.encode(), sha256).hexdigest()
    assert SIGNER.is_right("agent", "lint-1", head, SIGNER.sign("agent", "lint-1", head))
    assert not SIGNER.is_right("agent", "lint-1", head, OTHER.sign("agent", "lint-1", head))
    assert not SIGNER.is_right("run", "lint-1", head, SIGNER.sign("agent", "lint-1", head))
    assert not SIGNER.is_right("agent", "lint-1", head, "é")


def test_every_anchor_of_a_signed_run_is_checked(folder: TraceFolder) -> None:
    play_signed(folder)
    report = verify_all(folder, signer=SIGNER)
    assert report.ok
    assert report.as_json()["signatures"] == {
        "checked": 3, "unsigned_runs": 0, "foreign_runs": 0
    }  # fmt: skip


def test_without_the_key_nothing_is_said_of_signatures(folder: TraceFolder) -> None:
    play_signed(folder)
    report = verify_all(folder)
    assert report.ok
    assert set(report.as_json()) == {"ok", "streams"}


def test_a_run_without_signatures_is_reported_and_no_fault(folder: TraceFolder) -> None:
    play_signed(folder, None)
    report = verify_all(folder, signer=SIGNER)
    assert report.ok
    assert report.signatures is not None
    assert (report.signatures.checked, report.signatures.unsigned_runs) == (0, 1)


def test_another_keys_run_is_reported_and_not_checked(folder: TraceFolder) -> None:
    play_signed(folder, OTHER)
    report = verify_all(folder, signer=SIGNER)
    assert report.ok
    assert report.signatures is not None
    assert (report.signatures.checked, report.signatures.foreign_runs) == (0, 1)


@pytest.mark.parametrize("line", [3, 4, 5])
@pytest.mark.parametrize("signer", [SIGNER, OTHER, None])
def test_a_stripped_signature_is_a_fault_with_the_key_and_without(
    line: int, signer: Signer | None, folder: TraceFolder
) -> None:
    path = play_signed(folder).path
    raw = list(read_lines(path))[line - 1]
    signature = raw.split(b'"signature":')[1][:66]
    forge(path, line, signature, b"null")
    assert (line, "anchor") in problems(verify_all(folder, signer=signer))


def test_a_forger_without_the_key_is_found_by_whoever_has_it(folder: TraceFolder) -> None:
    """The forger rewrites the end of the agent, its anchors and every hash of both streams."""
    path = play_signed(folder).path
    agent = folder.agent_stream(AGENT)
    before = list(read_lines(agent))
    forge(agent, len(before), b'"submitted"', b'"no_change"')
    after = list(read_lines(agent))
    for line in (3, 5):
        forge(path, line, before[-1][-66:-2], after[-1][-66:-2])
    assert verify_all(folder).ok, "every hash in it is right"
    assert problems(verify_all(folder, signer=SIGNER)) == [
        (3, "anchor"), (4, "anchor"), (5, "anchor")
    ]  # fmt: skip


def test_a_signature_where_none_was_promised(folder: TraceFolder) -> None:
    path = play_signed(folder, None).path
    forge(path, 3, b'"signature":null', b'"signature":"' + b"0" * 64 + b'"')
    assert problems(verify_all(folder)) == [(3, "anchor")]


class TestAppending:
    def test_events_without_an_anchor_are_not_signed(self) -> None:
        start = JobStart(agent_id=AGENT, operation="lint", node_id=NODE)
        assert with_signature(start, SIGNER, RUN, Head()) is start
        end = RunEnd()
        assert with_signature(end, None, RUN, Head()) is end

    def test_a_runs_start_names_the_key_and_does_not_show_it(self) -> None:
        start = with_signature(RunStart(), SIGNER, RUN, Head())
        assert start == replace(
            RunStart(), signing={"algorithm": "hmac-sha256", "key": SIGNER.name}
        )
        assert KEY.hex() not in SIGNER.name

    @pytest.mark.parametrize("signer", [None, OTHER])
    def test_a_signed_run_is_continued_only_with_its_key(self, signer: Signer | None) -> None:
        assert signer_for(SIGNER.signing, SIGNER) is SIGNER
        with pytest.raises(ConfigError, match=SIGNER.name):
            signer_for(SIGNER.signing, signer)

    def test_a_run_that_is_not_signed_stays_so(self) -> None:
        assert signer_for(None, SIGNER) is None


class TestKey:
    def test_from_the_environment_first_then_from_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "key"
        file.write_bytes(KEY + b"\n")
        file.chmod(0o600)
        given = {"REMORA_SIGNING_KEY": "some other key of theirs"}
        assert [
            signer and signer.name
            for signer in (
                load_signer({}, str(file)),
                load_signer(given, str(file)),
                load_signer({}, None),
            )
        ] == [SIGNER.name, OTHER.name, None]

    def test_a_key_that_others_can_read_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "key"
        file.write_bytes(KEY)
        file.chmod(0o640)
        with pytest.raises(ConfigError, match="can read this signing key"):
            load_signer({}, str(file))

    def test_a_short_one_is_refused_and_not_shown(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as refused:
            load_signer({"REMORA_SIGNING_KEY": "hunter2"}, None)
        assert "hunter2" not in refused.value.message + refused.value.hint

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(DiskError, match="No such file"):
            load_signer({}, str(tmp_path / "key"))

    def test_it_is_named_by_its_whole_path_or_from_the_users_home(self, tmp_path: Path) -> None:
        """A relative path would be a file of a cloned repository."""
        file = tmp_path / "key"
        file.write_bytes(KEY)
        file.chmod(0o600)
        found = load_signer({"HOME": str(tmp_path)}, "~/key")
        assert found is not None
        assert found.name == SIGNER.name
        with pytest.raises(ConfigError, match="must be absolute"):
            load_signer({}, "key")
