"""AzCopy's own captured output (10.32.2), read as the runbook reads it."""

from pathlib import Path

import pytest

from feedline.tools import azcopy

SAMPLES = Path(__file__).parents[2] / "fixtures" / "azcopy-10.32.2"


def job(name: str) -> azcopy.Job:
    with (SAMPLES / f"{name}.jsonl").open() as lines:
        return azcopy.read(lines)


def test_a_completed_upload_succeeds_with_its_counts_and_bytes() -> None:
    done = job("01-upload-ok")
    assert done.succeeded
    assert (done.total, done.completed, done.bytes_done) == (11, 11, 20_020_000)


@pytest.mark.parametrize(
    "name", ["10-403-readonly-sas", "13-404-no-container", "16-dir-without-recursive", "21-partial-failure-leased-blob"]
)
def test_a_refused_missing_or_partial_upload_does_not_succeed(name: str) -> None:
    assert not job(name).succeeded


def test_a_failed_transfer_is_remembered_although_the_last_message_lists_none() -> None:
    assert job("21-partial-failure-leased-blob").failures == (("http://127.0.0.1:10000/acct1/upl/tree/f3.bin", "412"),)


def test_a_killed_run_has_no_result_but_can_be_resumed_once_it_was_scanned() -> None:
    killed = job("30-kill9")
    assert not killed.settled and killed.ordered and killed.job_id


def test_a_run_killed_while_scanning_cannot_be_resumed() -> None:
    assert not job("35-kill9-during-scan").ordered


def test_a_question_on_stdin_is_seen() -> None:
    assert job("37-sigterm-during-scan").prompt


def test_plain_text_between_the_json_lines_is_passed_over() -> None:
    assert job("18-bad-flag") == azcopy.Job()


def test_an_empty_source_succeeds_for_azcopy_so_the_manifest_has_to_refuse_it() -> None:
    assert job("15-empty-source-dir").succeeded
    assert job("15-empty-source-dir").total == 0


def test_no_secret_and_no_key_is_among_the_arguments_or_variables() -> None:
    words = [
        *azcopy.copy_argv("azcopy", "/data", "https://a.blob.core.windows.net/c/p", overwrite="true"),
        *azcopy.environment("id", "/f").values(),
    ]
    assert not [word for word in words if "sig=" in word or "key" in word.lower()]
