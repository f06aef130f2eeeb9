"""Whichever BlobFuse2 the nodes have - the stand-in or the real one - behaves on a real mount as 2.5.6 did."""

import json
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)
WORK = "/run/mounts-test"
CASES = r"""
import hashlib, json, os, shutil, subprocess, sys, time
account, endpoint, client, work = sys.argv[1:]
mnt, cache = f"{work}/mnt", f"{work}/cache"

def config(extra, cached="timeout-sec: 864000"):
    return f'''
logging: {{type: base, level: log_warning, file-path: {work}/log}}
components: [libfuse, file_cache, attr_cache, azstorage]
file_cache: {{path: {cache}, {cached}, max-size-mb: 200}}
azstorage:
  {{type: block, account-name: {account}, container: raw, endpoint: "{endpoint}", mode: msi, appid: {client}}}
{extra}
'''

def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr

def mounted():
    lines = [l for l in open("/proc/self/mountinfo") if l.split()[4] == mnt]
    return [l.split(" - ")[1].split() for l in lines]

def files(root):
    return sorted(os.path.relpath(os.path.join(r, f), root) for r, _, fs in os.walk(root) for f in fs)

def refused(action):
    try:
        action()
    except OSError as error:
        return error.strerror
    return "done"

def case(text, *flags):
    shutil.rmtree(work, ignore_errors=True)
    for folder in (mnt, cache):
        os.makedirs(folder)
    open(f"{work}/c.yaml", "w").write(text)
    plain = ["--disable-version-check=true", f"--config-file={work}/c.yaml"]
    code, _, err = run("blobfuse2", "mount", mnt, *plain, *flags)
    assert code == 0, err
    deadline = time.monotonic() + 20
    while not mounted() and time.monotonic() < deadline:
        time.sleep(0.1)
    return mounted()[0]

def unmount():
    code = run("blobfuse2", "unmount", mnt)[0]
    deadline = time.monotonic() + 20
    while os.listdir(cache) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [code, files(cache), mounted()]

seen = {}
data = os.urandom(8 << 20)
seen["rw"] = case(config(""))
os.makedirs(f"{mnt}/set", exist_ok=True)
open(f"{mnt}/set/w1", "wb").write(data)
seen["cached while open"] = files(cache)
os.rename(f"{mnt}/set/w1", f"{mnt}/set/w2")
seen["names"] = sorted(os.listdir(f"{mnt}/set"))
os.mkdir(f"{mnt}/dd")
os.rmdir(f"{mnt}/dd")
seen["rw unmount"] = unmount()

seen["ro"] = case(config(""), "--read-only")
seen["same bytes"] = open(f"{mnt}/set/w2", "rb").read() == data
seen["cached after reading"] = files(cache)
seen["ro write"] = refused(lambda: open(f"{mnt}/new", "w"))
seen["ro delete"] = refused(lambda: os.unlink(f"{mnt}/set/w2"))
seen["listed"] = mnt in run("blobfuse2", "mount", "list")[1]
seen["ro unmount"] = unmount()

case(config("", "timeout-sec: 0"), "--read-only")
seen["timeout zero bytes"] = len(open(f"{mnt}/set/w2", "rb").read())
time.sleep(3)
seen["timeout zero cache"] = files(cache)
unmount()

seen["preload"] = case(config("preload: true"))
deadline = time.monotonic() + 20
while files(cache) != ["set/w2"] and time.monotonic() < deadline:
    time.sleep(0.2)
seen["preloaded"] = files(cache)
seen["preload write"] = refused(lambda: open(f"{mnt}/new", "w"))
unmount()

case(config(""))
os.unlink(f"{mnt}/set/w2")
seen["deleted"] = os.listdir(f"{mnt}/set") if os.path.isdir(f"{mnt}/set") else []
unmount()
shutil.rmtree(work)
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen(handed_off: Any) -> dict[str, Any]:
    """Play all cases once on the ingest node, as its identity, in container raw."""
    contract = handed_off.contract()
    account = contract["accounts"][0]
    client = next(i["client_id"] for i in contract["identities"] if i["name"] == "ingest")
    argv = ["python3", "-c", CASES, account["name"], account["blob_endpoint"], client, WORK]
    done = handed_off.sandbox("exec", "ingest-0", "--", *argv)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("name", "mode"), [("rw", "rw"), ("ro", "ro"), ("preload", "ro")])
def test_the_kernel_shows_the_mount_as_captured(seen: dict[str, Any], name: str, mode: str) -> None:
    kind, source, options = seen[name]
    assert (kind, source) == ("fuse", "blobfuse2")
    assert options.split(",")[0] == mode and "max_read=1048576" in options


def test_what_is_written_is_renamed_kept_and_read_back_by_another_mount(seen: dict[str, Any]) -> None:
    assert seen["names"] == ["w2"] and seen["same bytes"] and seen["deleted"] == []


def test_the_cache_mirrors_the_blobs_paths_and_is_wiped_at_unmount(seen: dict[str, Any]) -> None:
    assert seen["cached after reading"] == ["set/w2"]
    assert seen["rw unmount"] == seen["ro unmount"] == [0, [], []]


def test_a_read_only_mount_refuses_writing_and_deleting(seen: dict[str, Any]) -> None:
    assert {seen["ro write"], seen["ro delete"], seen["preload write"]} == {"Read-only file system"}


def test_a_timeout_of_zero_leaves_an_empty_cache(seen: dict[str, Any]) -> None:
    assert seen["timeout zero bytes"] == 8 << 20 and seen["timeout zero cache"] == []


def test_preload_brings_everything_without_being_asked(seen: dict[str, Any]) -> None:
    assert seen["preloaded"] == ["set/w2"]


def test_the_mount_is_listed(seen: dict[str, Any]) -> None:
    assert seen["listed"]
