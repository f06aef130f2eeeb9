"""`./run bench`: every row, or the ones named."""

from __future__ import annotations

import importlib
import sys

ROWS = ("hashing", "loader", "preview")


def main(names: list[str]) -> int:
    """Given row names (none: all), run them."""
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        print(f"bench: no row {', '.join(unknown)}; there are: {', '.join(ROWS)}", file=sys.stderr)
        return 1
    for name in names or ROWS:
        importlib.import_module(f"bench.{name}").run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
