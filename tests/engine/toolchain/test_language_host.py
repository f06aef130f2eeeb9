"""The language host, driven over gRPC as the engine drives it, with a stand-in for the SDK's program runner."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc, language_pb2, language_pb2_grpc

from toolchain.language_host import programs
from toolchain.versions import FOLDER, pinned

VENV = Path(sys.prefix)
# Writes down how it was started, then does what the program's name says.
RUNNER = """
import json, os, sys, time
from pathlib import Path
program = Path(sys.argv[-1])
program.with_name("started.json").write_text(json.dumps(
    {"argv": sys.argv[1:], "cwd": os.getcwd(), "pid": os.getpid(), "config": os.environ["PULUMI_CONFIG"]}))
time.sleep(60 if program.name == "slow" else 0)
sys.exit({"fails": 3, "told": 32}.get(program.name, 0))
"""
# A pack in the SDK's manner: its port first, and the stack only from its environment.
PACK = """
import os
from concurrent import futures
import grpc
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

class Pack(analyzer_pb2_grpc.AnalyzerServicer):
    def GetAnalyzerInfo(self, request, context):
        return analyzer_pb2.AnalyzerInfo(name=os.environ.get("PULUMI_STACK", "no stack"))

server = grpc.server(futures.ThreadPoolExecutor(2))
analyzer_pb2_grpc.add_AnalyzerServicer_to_server(Pack(), server)
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination(60)
"""


def start_host(folder):
    """Start the shim as the engine would, from a folder that holds the runner, and return it with its stub."""
    shim = folder / "pulumi-language-python"
    shim.write_text((FOLDER / shim.name).read_text())
    shim.chmod(0o755)
    (folder / "pulumi-language-python-exec").write_text(RUNNER)
    env = {
        **os.environ,
        "FEEDLINE_HOST_PYTHON": sys.executable,
        "FEEDLINE_LANGUAGE_HOST": str(FOLDER / "language_host" / "__main__.py"),
    }
    process = subprocess.Popen(
        [shim, "--logtostderr", "127.0.0.1:1"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    channel = grpc.insecure_channel(f"127.0.0.1:{process.stdout.readline().strip()}")
    return process, language_pb2_grpc.LanguageRuntimeStub(channel)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One host for every test that leaves it alive: it starts in half a second."""
    process, stub = start_host(tmp_path_factory.mktemp("host"))
    yield stub
    process.terminate()
    assert process.wait(15) == 0


@pytest.fixture
def own(tmp_path):
    """A host of one test's own, to be killed by it."""
    process, stub = start_host(tmp_path)
    yield process, stub
    process.kill()
    process.wait()


def info(folder, virtualenv=VENV, entry="."):
    options = struct_pb2.Struct()
    options.update({"virtualenv": str(virtualenv)})
    return language_pb2.ProgramInfo(
        root_directory=str(folder), program_directory=str(folder), entry_point=entry, options=options
    )


def run_request(folder, entry):
    return language_pb2.RunRequest(
        project="proj", stack="dev", pwd=str(folder), info=info(folder, entry=entry), monitor_address="127.0.0.1:2",
        parallel=4, dryRun=True, config={"proj:size": "3"},
    )  # fmt: skip


def wait_until(condition, what, within_s=10.0):
    """Wait for a condition, and fail with its name if it does not come."""
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, f"not within {within_s} s: {what}"
        time.sleep(0.02)


def started(folder):
    wait_until(lambda: (folder / "started.json").exists() and (folder / "started.json").stat().st_size, "the program")
    return json.loads((folder / "started.json").read_text())


def alive(pid):
    """Given a process id, return whether it runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except FileNotFoundError:
        return False


def test_it_says_the_version_of_the_cli_that_it_belongs_to(shared):
    assert shared.GetPluginInfo(empty_pb2.Empty()).version == pinned()["pulumi"]["version"]


def test_it_asks_for_exactly_the_plugin_that_the_wheel_names(shared, tmp_path):
    packages = shared.GetRequiredPackages(language_pb2.GetRequiredPackagesRequest(info=info(tmp_path))).packages
    assert [(package.name, package.kind) for package in packages] == [("azure-native", "resource")]
    assert packages[0].version.startswith("v3.")


def test_a_program_is_told_its_stack_and_configuration(shared, tmp_path):
    shared.Handshake(language_pb2.LanguageHandshakeRequest(engine_address="127.0.0.1:3"))
    answer = shared.Run(run_request(tmp_path, "fine"))
    told = started(tmp_path)
    assert (answer.error, answer.bail) == ("", False)
    assert told["cwd"] == str(tmp_path)
    assert told["config"] == '{"proj:size": "3"}'
    words = " ".join(told["argv"])
    for option in ("--monitor 127.0.0.1:2", "--engine 127.0.0.1:3", "--stack dev", "--dry_run true", "--parallel 4"):
        assert option in words


def test_a_failing_program_is_an_error_with_its_exit_code(shared, tmp_path):
    assert "exit code 3" in shared.Run(run_request(tmp_path, "fails")).error


def test_a_program_that_has_shown_its_error_itself_is_not_reported_twice(shared, tmp_path):
    answer = shared.Run(run_request(tmp_path, "told"))
    assert (answer.error, answer.bail) == ("", True)


def test_a_missing_virtualenv_is_said_with_what_to_do(shared, tmp_path):
    request = language_pb2.GetRequiredPackagesRequest(info=info(tmp_path, virtualenv=tmp_path / "nothing"))
    with pytest.raises(grpc.RpcError) as refused:
        shared.GetRequiredPackages(request)
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert "./run setup" in refused.value.details()


def test_about_names_the_programs_python_and_its_packages(shared, tmp_path):
    about = shared.About(language_pb2.AboutRequest(info=info(tmp_path)))
    listed = shared.GetProgramDependencies(language_pb2.GetProgramDependenciesRequest(info=info(tmp_path)))
    assert about.executable == str(VENV / "bin" / "python")
    assert about.version == sys.version.split()[0]
    assert "pulumi" in {package.name for package in listed.dependencies}


def test_a_source_plugins_output_and_exit_code_reach_the_engine(shared, tmp_path):
    (tmp_path / "__main__.py").write_text("import os, sys; print(os.environ['X'], sys.argv[1:]); sys.exit(4)")
    request = language_pb2.RunPluginRequest(
        pwd=str(tmp_path), args=["127.0.0.1:3"], info=info(tmp_path), kind="resource", env=["X=a=b"]
    )
    messages = list(shared.RunPlugin(request))
    assert b"".join(message.stdout for message in messages) == b"a=b ['127.0.0.1:3']\n"
    assert messages[-1].exitcode == 4


@pytest.fixture
def pack(shared, tmp_path):
    """A running policy pack behind its proxy: the engine's stub for it."""
    # `python -m pulumi.policy ENGINE FOLDER` runs the folder's __main__.py
    (tmp_path / "__main__.py").write_text(PACK)
    (tmp_path / "PulumiPolicy.yaml").write_text("runtime: python\n")
    request = language_pb2.RunPluginRequest(args=["127.0.0.1:3"], info=info(tmp_path), kind="analyzer")
    call = shared.RunPlugin(request)
    port = int(next(call).stdout)
    yield analyzer_pb2_grpc.AnalyzerStub(grpc.insecure_channel(f"127.0.0.1:{port}"))
    call.cancel()


def test_a_policy_pack_starts_with_its_stack_in_the_environment(pack):
    pack.Handshake(analyzer_pb2.AnalyzerHandshakeRequest())
    pack.ConfigureStack(analyzer_pb2.AnalyzerStackConfigureRequest(stack="prod", project="proj"))
    assert pack.GetAnalyzerInfo(empty_pb2.Empty()).name == "prod"


def test_a_policy_pack_without_a_stack_starts_all_the_same(pack):
    assert pack.GetAnalyzerInfo(empty_pb2.Empty()).name == "no stack"


def test_a_refusal_of_the_pack_reaches_the_engine_as_it_is(pack):
    with pytest.raises(grpc.RpcError) as refused:
        pack.Remediate(analyzer_pb2.AnalyzeRequest())
    assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_a_policy_pack_that_says_no_port_is_an_error_and_not_a_hang(shared, tmp_path):
    (tmp_path / "__main__.py").write_text("print('hello')")
    call = shared.RunPlugin(language_pb2.RunPluginRequest(args=["x"], info=info(tmp_path), kind="analyzer"))
    stub = analyzer_pb2_grpc.AnalyzerStub(grpc.insecure_channel(f"127.0.0.1:{int(next(call).stdout)}"))
    with pytest.raises(grpc.RpcError) as refused:
        stub.GetAnalyzerInfo(empty_pb2.Empty())
    assert "must be its port, not 'hello'" in refused.value.details()


def test_the_program_dies_with_a_killed_host(own, tmp_path):
    running = own[1].Run.future(run_request(tmp_path, "slow"))
    pid = started(tmp_path)["pid"]
    own[0].kill()
    wait_until(lambda: not alive(pid), "the program's end")
    running.cancel()


def test_cancel_interrupts_the_program(own, tmp_path):
    run = own[1].Run.future(run_request(tmp_path, "slow"))
    started(tmp_path)
    own[1].Cancel(empty_pb2.Empty())
    assert run.result(10).error


def test_it_ends_with_its_program_when_asked_to(own, tmp_path):
    running = own[1].Run.future(run_request(tmp_path, "slow"))
    pid = started(tmp_path)["pid"]
    own[0].send_signal(signal.SIGTERM)
    assert own[0].wait(15) == 0
    assert not alive(pid)
    running.cancel()


ENGINE = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from pathlib import Path
from test_language_host import run_request, start_host
process, stub = start_host(Path(sys.argv[3]))
run = stub.Run.future(run_request(Path(sys.argv[3]), "slow"))
print(process.pid, flush=True)
run.result()
"""


def test_host_and_program_die_with_a_killed_engine(tmp_path):
    words = [sys.executable, "-c", ENGINE, str(FOLDER.parent), str(Path(__file__).parent), str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        host_pid = int(engine.stdout.readline())
        program_pid = started(tmp_path)["pid"]
        engine.kill()
    wait_until(lambda: not alive(host_pid) and not alive(program_pid), "the end of host and program")


def test_outside_of_the_sandboxs_environment_the_shim_says_what_to_do():
    env = {name: value for name, value in os.environ.items() if not name.startswith("FEEDLINE_")}
    done = subprocess.run(["sh", FOLDER / "pulumi-language-python", "x"], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "./run shell" in done.stderr


def test_a_program_that_a_signal_ended_is_named_by_the_signal():
    from toolchain.language_host.host import _exit_words

    assert "SIGKILL" in _exit_words(-9)


def test_the_virtualenv_option_may_be_relative_to_the_project(tmp_path):
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").write_text("")
    assert programs.python_of(info(tmp_path, virtualenv="venv")) == str(tmp_path / "venv" / "bin" / "python")
