"""Make a data set to rehearse with: shards FOLDER COUNT BYTES. Incompressible, and the same bytes every time."""

import random
import sys
from pathlib import Path


def main() -> None:
    """Write what is not there yet, each shard whole or not at all."""
    folder, count, size = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    made = 0
    for number in range(count):
        shard = folder / f"shard-{number:05}.bin"
        if shard.exists() and shard.stat().st_size == size:
            continue
        part = folder.parent / f".{shard.name}"
        part.write_bytes(random.Random(number).randbytes(size))
        part.rename(shard)
        made += 1
    print(f"{count} shards in {folder}, {made} of them new")


main()
