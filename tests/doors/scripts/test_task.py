import json
import subprocess
import sys

import pytest
from invoke import Context, Exit

from feedline.errors import CheckError, OperationError
from scripts import ns
from scripts.log import masked
from scripts.places import CHECKOUT, Places
from scripts.task import guarded

# Read once: Invoke takes the help texts out as it reads them.
ARGUMENTS = {name: one.get_arguments() for name, one in ns.tasks.items()}


@pytest.mark.parametrize(
    "error, code", [(OperationError("a", where="b", hint="c"), 1), (CheckError("a", where="b", hint="c"), 2)]
)
def test_an_error_is_one_message_and_its_exit_code(capsys, error, code):
    def fail():
        raise error

    assert guarded("fab x", fail) == code
    assert capsys.readouterr().err == "fab x: b: a\n  hint: c\n"


def test_json_carries_the_error_too(capsys):
    def fail():
        raise OperationError("a", where="b", hint="c")

    guarded("fab x", fail, as_json=True)
    assert json.loads(capsys.readouterr().out)["error"] == {"what": "a", "where": "b", "hint": "c"}


def test_a_fault_of_ours_is_one_line_and_its_story_is_kept(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDLINE_HOME", str(tmp_path))
    assert guarded("fab x", lambda: 1 // 0) == 1
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said and "Traceback" not in said
    assert "Traceback" in next((tmp_path / ".feedline" / "logs").glob("fault-*.log")).read_text()


def test_an_interrupt_says_that_it_can_be_run_again(capsys):
    def stop():
        raise KeyboardInterrupt

    assert guarded("fab x", stop) == 130
    assert "run it again" in capsys.readouterr().err


def test_only_tasks_that_change_something_offer_yes_and_dry_run():
    def options(name):
        return {argument.name for argument in ARGUMENTS[name]}

    for name in ("ingest", "nvme", "cache", "ready"):
        assert {"yes", "dry_run", "break_lock"} <= options(name)
    assert "break_lock" in options("validate"), "it measures under the lock"
    for name in ("doctor", "access", "validate", "handoff", "size"):
        assert not {"yes", "dry_run"} & options(name)
    assert {"stack", "contract", "nodes", "role", "parallel", "identity", "json"} <= options("doctor")
    assert {"source", "dataset"} <= options("ingest")


def test_every_task_and_every_option_has_help():
    for name, one in ns.tasks.items():
        assert one.__doc__, name
        assert [a.name for a in ARGUMENTS[name] if not a.help] == [], name


def test_the_list_of_tasks_imports_nothing_heavy():
    heavy = {"rich", "azure", "pulumi", "concurrent.futures.thread", "feedline.contract"}
    code = f"import sys; import scripts; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_secrets_are_masked_in_what_is_kept():
    url = "https://a.blob.core.windows.net/c?sv=1&sig=abc%2Bdef%3D&se=2"
    assert masked(url) == "https://a.blob.core.windows.net/c?sv=1&sig=***&se=2"
    assert masked("Bearer eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJ4In0.c2ln") == "Bearer ***"
    assert masked('{"access_token": "abc"}') == '{"access_token": "***"}'
    assert masked("nothing to see") == "nothing to see"


def test_a_clusters_name_never_leads_out_of_its_folder(tmp_path):
    places = Places(tmp_path, tmp_path)
    for name in ("../../etc", "/etc", "", "a/b"):
        assert places.state(name).parent == tmp_path / ".feedline" / "state"
        assert places.evidence(name).parent == tmp_path / "evidence"


def test_size_shows_the_feed_plan_and_says_no_when_it_starves(cluster, tmp_path, capsys):
    from scripts.size import size

    for starved, code in ((False, 0), (True, 2)):
        plan = {"now": {"message": "86 MB/s required", "starved": starved}, "at_10x": {"message": "860 MB/s required"}}
        (tmp_path / "c.json").write_text(json.dumps({**cluster.contract.as_dict(), "feed_plan": plan}))
        if code:
            with pytest.raises(Exit) as ended:
                size.body(Context(), contract=str(tmp_path / "c.json"))
            assert ended.value.code == code
        else:
            size.body(Context(), contract=str(tmp_path / "c.json"))
        assert "now: 86 MB/s required\nat ten times the data: 860 MB/s" in capsys.readouterr().out
