"""Started by the engine as `pulumi-language-python … ENGINE_ADDRESS`: serve, say the port, end when the engine does."""

import os
import sys
from pathlib import Path

# Started with -P by its path: the checkout is put last, so that it can shadow nothing.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from toolchain.language_host import host

if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    runner = Path(os.environ.get("FEEDLINE_HOST_RUNNER") or Path(sys.argv[0]).with_name("pulumi-language-python-exec"))
    sys.exit(host.serve(words[-1] if words else "", runner))
