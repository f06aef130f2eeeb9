"""The ARM face: real paths and answers over a unix socket."""

from sandbox.arm.app import make_app

__all__ = ["make_app"]
