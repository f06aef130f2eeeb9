"""Blobs as files on the cache disk: downloaded whole inside open(), or all of them in the background (preload)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from sandbox.standins.blobfuse2.settings import Options
from sandbox.standins.blobfuse2.storage import Blob, Container

EVICT_EVERY_S = 60.0
HIGH, LOW = 0.80, 0.60


class FileCache:
    """`<cache>/<blob path>` for every blob that was opened. The limit is soft, as the real one's is."""

    def __init__(self, options: Options, container: Container, log: Callable[[str, str], None]) -> None:
        self._options, self._container, self._log = options, container, log
        self._pool = ThreadPoolExecutor(max(options.concurrency, options.workers))
        self._lock = threading.Lock()
        self._loading: dict[str, Future[None]] = {}
        self._opened: dict[str, int] = {}
        self._used: dict[str, float] = {}

    def path(self, name: str) -> str:
        """Given a blob's name, return its place in the cache."""
        return os.path.join(self._options.cache, name)

    def ensure(self, blob: Blob) -> str:
        """Given a blob, return the path of its complete copy in the cache, downloading it first where it is missing."""
        path = self.path(blob.name)
        with self._lock:
            self._used[blob.name] = time.monotonic()
            running = self._loading.get(blob.name)
            if running is None and os.path.exists(path):
                return path
            mine = running is None
            if running is None:
                running = self._loading[blob.name] = Future()
        if mine:
            self._load(blob, path, running)
        running.result()
        return path

    def _load(self, blob: Blob, path: str, done: Future[None]) -> None:
        try:
            self._download(blob, path)
            done.set_result(None)
        except BaseException as error:  # noqa: BLE001 - every opener that waits has to hear of it
            done.set_exception(error)
        finally:
            with self._lock:
                self._loading.pop(blob.name, None)

    def _download(self, blob: Blob, path: str) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        part = f"{path}.part-{threading.get_ident()}"
        descriptor = os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
        try:
            step = self._options.block_bytes
            ranges = [(at, min(step, blob.size - at)) for at in range(0, blob.size, step)]

            def fetch(piece: tuple[int, int]) -> None:
                os.pwrite(descriptor, self._container.read(blob.name, *piece), piece[0])

            if len(ranges) <= 1:
                for piece in ranges:
                    fetch(piece)
            else:
                list(self._pool.map(fetch, ranges))
        except BaseException:
            os.close(descriptor)
            os.unlink(part)
            raise
        os.close(descriptor)
        os.utime(part, (time.time(), blob.mtime))
        os.replace(part, path)

    def hold(self, name: str) -> None:
        """Note that a file is open: it will not be evicted."""
        with self._lock:
            self._opened[name] = self._opened.get(name, 0) + 1

    def release(self, name: str) -> None:
        """Note that an open file was closed; with timeout 0 the last close evicts it."""
        with self._lock:
            self._opened[name] = self._opened.get(name, 1) - 1
            idle = self._opened[name] <= 0
            if idle:
                self._opened.pop(name, None)
        if idle and self._options.timeout_s == 0 and not self._options.preload:
            self._evict(name)

    def forget(self, name: str) -> None:
        """Delete a file from the cache (its blob was deleted or renamed)."""
        self._evict(name)

    def tend(self) -> None:
        """Evict what has been idle longer than the timeout, or too much altogether; a preloaded set is never
        evicted."""
        while not self._options.preload:
            time.sleep(EVICT_EVERY_S)
            with self._lock:
                idle = sorted((at, name) for name, at in self._used.items() if not self._opened.get(name))
            for at, name in idle:
                if time.monotonic() - at > self._options.timeout_s or self._full():
                    self._evict(name)

    def _full(self) -> bool:
        if not self._options.max_bytes:
            return False
        used = sum(
            os.path.getsize(os.path.join(root, f)) for root, _, files in os.walk(self._options.cache) for f in files
        )
        return used > self._options.max_bytes * HIGH

    def _evict(self, name: str) -> None:
        with self._lock:
            self._used.pop(name, None)
        try:
            os.unlink(self.path(name))
        except FileNotFoundError:
            return

    def preload(self) -> None:
        """Download everything there is, a few files at a time; what fails is logged and downloaded again at its
        open."""
        started, done, failed, size = time.monotonic(), 0, 0, 0
        with ThreadPoolExecutor(min(self._options.workers, 8)) as files:
            blobs = [b for b in self._container.list("", flat=True) if not b.is_folder]
            for blob, future in [(b, files.submit(self.ensure, b)) for b in blobs]:
                try:
                    future.result()
                    done, size = done + 1, size + blob.size
                except Exception as error:  # noqa: BLE001 - one file that cannot be had must not end the others
                    failed += 1
                    self._log("LOG_ERR", f"Xload: {blob.name}: {error}")
        seconds = max(time.monotonic() - started, 0.001)
        self._log(
            "LOG_CRIT",
            f"statsManager::calculateBandwidth : 100.00%, {done} Done, {failed} Failed, 0 Pending, "
            f"{done + failed} Total, "
            f"Bytes transferred {size}, Throughput (Mbps): {size * 8 / seconds / 1e6:.2f}",
        )
