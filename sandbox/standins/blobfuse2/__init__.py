"""BlobFuse2's stand-in: the same command line, YAML, exit codes, log lines and cache layout, in Python over libfuse3.

What it has: file_cache and preload (xload), read-only and read-write, managed identity. What it has not:
block_cache, keys and SAS, the dfs protocol (an `adls` mount is served through the blob endpoint, and the log says
so). Behaviour: BlobFuse2 2.5.6 as captured in tests/fixtures/blobfuse2-2.5.6.
"""
