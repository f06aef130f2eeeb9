"""The simulated Azure's resources: what exists, what is refused, and who may do what."""

from sandbox.cloud.refusal import Refusal
from sandbox.cloud.store import Cloud

__all__ = ["Cloud", "Refusal"]
