"""What `fab ingest` would do, from facts alone."""

from dataclasses import replace

import pytest

from feedline.errors import OperationError
from feedline.plans.ingest import Facts, Found, fingerprint, plan, problems
from feedline.tools.azcopy import Job

FILES = (Found("a.bin", "file", 10, 1), Found("b/c.bin", "file", 20, 2))
FACTS = Facts(
    "/data/v1", FILES, None, None, None, False, False, "azcopy", "https://a.blob.core.windows.net/training-data/v1"
)


def whys(facts: Facts) -> list[str]:
    return [step.argv[1] if step.argv[0] == "feedline" else " ".join(step.argv[:3]) for step in plan(facts, "v1").steps]


def test_a_new_source_is_hashed_uploaded_verified_and_sealed_last() -> None:
    assert whys(FACTS) == ["hash", "azcopy copy /data/v1", "verify", "manifest", "seal"]


def test_a_sealed_data_set_needs_nothing() -> None:
    sealed = replace(FACTS, sealed_fingerprint=fingerprint(FILES), sealed_at="2026-12-01T00:00:00Z")
    assert not plan(sealed, "v1")
    assert "2026-12-01" in plan(sealed, "v1").nothing_because


def test_a_sealed_data_set_is_never_changed_by_another_source() -> None:
    with pytest.raises(OperationError, match="sealed"):
        plan(replace(FACTS, sealed_fingerprint="other", sealed_at="x"), "v1")


def test_an_interrupted_upload_is_resumed() -> None:
    assert "azcopy jobs resume" in whys(
        replace(FACTS, hashed=True, previous=Job(job_id="j", status="InProgress", ordered=True))
    )


def test_an_upload_interrupted_while_scanning_starts_again_with_newer_files_only() -> None:
    steps = plan(replace(FACTS, hashed=True, previous=Job(job_id="j")), "v1").steps
    assert "--overwrite=ifSourceNewer" in steps[0].argv


def test_a_completed_upload_is_read_and_never_resumed() -> None:
    done = Job(job_id="j", status="Completed", ordered=True, ended=True)
    assert whys(replace(FACTS, hashed=True, previous=done))[0] == "attach"


def test_a_running_upload_is_watched_instead_of_started_twice() -> None:
    assert whys(replace(FACTS, hashed=True, running=True, previous=Job(job_id="j")))[0] == "attach"


def test_without_a_source_nothing_is_planned_and_the_option_is_named() -> None:
    assert "--source" in plan(replace(FACTS, source=None, found=()), "v1").nothing_because


def test_every_problem_of_a_source_is_told_at_once() -> None:
    bad = (
        Found("l", "link", 0, 0),
        Found("s", "special", 0, 0),
        Found("u", "unreadable", 0, 0),
        Found("x\\y", "file", 1, 0),
        Found("_feedline/seal.json", "file", 1, 0),
    )
    told = problems("Bad_Name", "/data/50%", bad)
    assert len(told) == 7
    with pytest.raises(OperationError) as caught:
        plan(replace(FACTS, found=bad), "v1")
    assert str(caught.value).count("\n  - ") == 5


def test_an_empty_source_is_refused_because_azcopy_would_call_it_a_success() -> None:
    assert any("no files" in text for text in problems("v1", "/data", ()))


def test_the_fingerprint_changes_with_size_time_and_name() -> None:
    prints = {
        fingerprint((Found("a", "file", 1, 1),)),
        fingerprint((Found("a", "file", 2, 1),)),
        fingerprint((Found("a", "file", 1, 2),)),
        fingerprint((Found("b", "file", 1, 1),)),
    }
    assert len(prints) == 4
