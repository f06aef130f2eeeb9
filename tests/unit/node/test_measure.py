import pytest

from feedline.errors import OperationError
from node import measure


@pytest.fixture
def sys_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "Path", lambda *parts: tmp_path.joinpath(*(part.lstrip("/") for part in parts)))
    return tmp_path / "sys/dev/block"


def test_a_devices_reads_and_bytes_are_read_where_the_kernel_writes_them(sys_folder):
    (sys_folder / "9:127").mkdir(parents=True)
    (sys_folder / "9:127" / "stat").write_text("    100  1  4096  7  200  2  8192  9  0  10  11\n")
    assert measure.block_reads("9:127") == 100
    assert measure.block_bytes("9:127") == (4096 * 512, 8192 * 512)


def test_a_device_without_counters_is_a_message(sys_folder):
    with pytest.raises(OperationError, match="no block statistics for device 0:50"):
        measure.block_reads("0:50")
