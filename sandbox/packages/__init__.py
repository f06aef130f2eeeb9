"""The small apt repository that nodes install AzCopy and BlobFuse2 from."""

from sandbox.packages.repository import build

__all__ = ["build"]
