"""The image that every simulated node boots: built once by the sandbox's own recipe, cached by its content hash."""

from __future__ import annotations

from toolchain.context import Context, Tool
from toolchain.errors import SetupError


def ensure(context: Context) -> Tool:
    """Return the node image, building it first if today's recipe has none. Raise SetupError if it cannot be built."""
    # Imported here: the other steps of the setup do not depend on the sandbox's code.
    from sandbox.layout import Layout
    from sandbox.nodes.image import ensure_image
    from sandbox.nodes.tools import ToolError

    try:
        image = ensure_image(Layout.of(context.checkout).images, context.say)
    except ToolError as error:
        raise SetupError(
            f"the node image could not be built: {error}",
            "every node of the sandbox boots from it",
            "`apt-get update` must work on this machine: the image is made from its own apt sources",
        ) from error
    return Tool("node image", image.parent.name, "mmdebstrap, the machine's own apt sources", image)
