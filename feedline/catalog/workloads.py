"""Training workloads as MLPerf Storage describes them: one step reads `batch` records, then computes for `compute_s`.

Source: mlcommons/storage, configs/dlio/workload/*_{a100,h100}.yaml at caa90c9 (v2.0), computation_time measured by
MLCommons on real GPUs. Demand per accelerator = record_bytes * batch / compute_s. The emulated resnet50 is about 2.7
times too kind: NVIDIA's DeepLearningExamples report 2,470 images/s on an A100 where the constant implies 920.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """One workload on one generation of GPU: bytes a record, records a step, seconds of work a step, least
    utilisation."""

    record_bytes: int
    batch: int
    compute_s: float
    au_target: float
    source: str


_MLPERF = "mlcommons/storage caa90c9 (v2.0)"

PROFILES: dict[tuple[str, str], Profile] = {
    ("unet3d", "a100"): Profile(146_600_628, 7, 0.636, 0.90, _MLPERF),
    ("unet3d", "h100"): Profile(146_600_628, 7, 0.323, 0.90, _MLPERF),
    ("resnet50", "a100"): Profile(114_660, 400, 0.435, 0.90, _MLPERF),
    ("resnet50", "h100"): Profile(114_660, 400, 0.224, 0.90, _MLPERF),
    ("cosmoflow", "a100"): Profile(2_828_486, 1, 0.00551, 0.70, _MLPERF),
    ("cosmoflow", "h100"): Profile(2_828_486, 1, 0.00350, 0.70, _MLPERF),
}


def generation(gpu_name: str) -> str:
    """Given a GPU's name, return the generation whose constants are used: the nearest one MLCommons measured."""
    return "a100" if "A100" in gpu_name else "h100"
