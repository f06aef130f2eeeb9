import pytest

from feedline.contract import Contract, Ssh, Workload


@pytest.fixture
def sandbox_contract():
    workload = Workload("w", 100, 1, 1.0, 8, 0.9, 1.1, 1, "shards-v1", 1000, "test")
    ssh = Ssh("azureuser", "direct", None, None)
    return Contract(1, "sandbox", "sandbox", "small", "eastus", "0", (), (), (), ssh, (), workload, {})
