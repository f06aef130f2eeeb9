#!/bin/sh
# BlobFuse2's stand-in: the same command, played by Python. exec -a, so that `pidof blobfuse2` finds it as it finds the real one.
exec python3 -I /usr/lib/feedline-blobfuse2/main.py "$@"
