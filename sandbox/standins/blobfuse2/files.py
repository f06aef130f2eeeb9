"""The file system's operations, over the cache and the container."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import mfusepy

from sandbox.standins.blobfuse2.cache import FileCache
from sandbox.standins.blobfuse2.settings import Options, wipe
from sandbox.standins.blobfuse2.storage import Blob, Container, StorageError

MAX_READ = 1 << 20
READ_AHEAD = 4 << 20
NO_ENTRY_S = 2.0


def told(error: StorageError) -> mfusepy.FuseOSError:
    """Given a storage error, return the errno a program sees."""
    number = {404: errno.ENOENT, 403: errno.EACCES, 401: errno.EACCES}.get(error.status, errno.EIO)
    return mfusepy.FuseOSError(number)


class BlobFiles(mfusepy.Operations):
    """One mount. Attributes are remembered for the configured time; files are read and written in the cache folder."""

    use_ns = True

    def __init__(
        self, options: Options, container: Container, cache: FileCache, log: Callable[[str, str], None]
    ) -> None:
        self._options, self._container, self._cache, self._log = options, container, cache, log
        self._attributes: dict[str, tuple[float, Blob | None]] = {}
        self._lock = threading.Lock()
        self._names: dict[int, str] = {}
        self._dirty: set[str] = set()
        self.threads: list[threading.Thread] = []

    def init_with_config(self, conn_info: Any, config_3: Any) -> None:
        """Called once mounted, in the process that serves: big reads, kept pages, and the background work."""
        if conn_info is not None:
            conn_info.max_read = MAX_READ
            conn_info.max_readahead = READ_AHEAD
        if config_3 is not None:
            config_3.kernel_cache = 1
            config_3.attr_timeout = config_3.entry_timeout = self._options.attribute_s
        for work in (self._cache.tend, *((self._cache.preload,) if self._options.preload else ())):
            self.threads.append(threading.Thread(target=work, daemon=True))
            self.threads[-1].start()

    def destroy(self, path: str) -> None:
        """Unmounted in order: the cache is wiped, as the real program does."""
        wipe(self._options.cache)

    # -- attributes
    def _find(self, name: str) -> Blob:
        known = self._attributes.get(name)
        if known is None or time.monotonic() > known[0]:
            try:
                blob = self._container.stat(name) if name else Blob("", -1, time.time())
            except StorageError as error:
                raise told(error) from error
            self._remember(name, blob)
        else:
            blob = known[1]
        if blob is None:
            raise mfusepy.FuseOSError(errno.ENOENT)
        return blob

    def _remember(self, name: str, blob: Blob | None) -> None:
        life = self._options.attribute_s if blob else NO_ENTRY_S
        self._attributes[name] = (time.monotonic() + life, blob)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        """Attributes of a path; a file being written has its cache file's size."""
        name = path.strip("/")
        if name in self._dirty:
            facts = os.stat(self._cache.path(name))
            blob = Blob(name, facts.st_size, facts.st_mtime)
        else:
            blob = self._find(name)
        wide = self._options.allow_other
        mode = (
            stat.S_IFDIR | (0o777 if wide else 0o775) if blob.is_folder else stat.S_IFREG | (0o777 if wide else 0o755)
        )
        when = int(blob.mtime * 1e9)
        return {
            "st_mode": mode,
            "st_nlink": 2 if blob.is_folder else 1,
            "st_size": 4096 if blob.is_folder else blob.size,
            "st_uid": os.getuid(),
            "st_gid": os.getgid(),
            "st_atime": when,
            "st_mtime": when,
            "st_ctime": when,
        }

    def readdir(self, path: str, fh: int) -> Iterator[str]:
        """One level of names; what is listed is remembered, so that the stats that follow ask nobody."""
        prefix = path.strip("/")
        prefix = f"{prefix}/" if prefix else ""
        try:
            found = list(self._container.list(prefix, flat=False))
        except StorageError as error:
            raise told(error) from error
        names = {".", ".."}
        for blob in found:
            self._remember(blob.name, blob)
            names.add(blob.name.removeprefix(prefix))
        names |= {
            n.removeprefix(prefix) for n in self._dirty if n.startswith(prefix) and "/" not in n.removeprefix(prefix)
        }
        yield from sorted(names)

    # -- files
    def open(self, path: str, flags: int) -> int:
        """Make sure the file is in the cache, and open it there."""
        name = path.strip("/")
        blob = self._find(name) if name not in self._dirty else None
        try:
            local = self._cache.ensure(blob) if blob else self._cache.path(name)
        except StorageError as error:
            self._log("LOG_ERR", f"FileCache::OpenFile : {name}: {error}")
            raise told(error) from error
        return self._opened(name, os.open(local, os.O_RDWR if flags & (os.O_WRONLY | os.O_RDWR) else os.O_RDONLY))

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        """Make an empty file in the cache; it becomes a blob when it is closed."""
        name = path.strip("/")
        local = self._cache.path(name)
        os.makedirs(os.path.dirname(local), exist_ok=True)
        self._dirty.add(name)
        return self._opened(name, os.open(local, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644))

    def _opened(self, name: str, descriptor: int) -> int:
        self._cache.hold(name)
        with self._lock:
            self._names[descriptor] = name
        return descriptor

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        """Bytes of the cache file."""
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        """Bytes into the cache file."""
        self._dirty.add(path.strip("/"))
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        """Change a file's length, in the cache."""
        name = path.strip("/")
        if name not in self._dirty:
            self._cache.ensure(self._find(name))
        self._dirty.add(name)
        os.truncate(self._cache.path(name), length)
        if fh is None:
            self._upload(name)
        return 0

    def flush(self, path: str, fh: int) -> int:
        """close() waits here: what was written is uploaded, and an error is the writer's to see."""
        self._upload(path.strip("/"))
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        """Nothing, as the real file_cache does by default: only close uploads."""
        return 0

    def release(self, path: str, fh: int) -> int:
        """Close the cache file."""
        with self._lock:
            name = self._names.pop(fh, path.strip("/"))
        os.close(fh)
        self._cache.release(name)
        return 0

    def _upload(self, name: str) -> None:
        if name not in self._dirty:
            return
        local = self._cache.path(name)
        try:
            self._container.write(name, local, self._options.block_bytes)
        except StorageError as error:
            self._log("LOG_ERR", f"FileCache::FlushFile : {name}: {error}")
            raise told(error) from error
        self._dirty.discard(name)
        self._remember(name, Blob(name, os.path.getsize(local), time.time()))

    # -- names
    def unlink(self, path: str) -> int:
        """Delete a blob."""
        name = path.strip("/")
        self._change(lambda: self._container.delete(name))
        self._dirty.discard(name)
        self._cache.forget(name)
        self._remember(name, None)
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        """Write a folder's marker."""
        name = path.strip("/")
        self._change(lambda: self._container.make_folder(name))
        self._remember(name, Blob(name, -1, time.time()))
        return 0

    def rmdir(self, path: str) -> int:
        """Delete an empty folder's marker."""
        name = path.strip("/")
        if next(iter(self._container.list(f"{name}/", flat=True)), None):
            raise mfusepy.FuseOSError(errno.ENOTEMPTY)
        self._change(lambda: self._container.delete(name))
        self._remember(name, None)
        return 0

    def rename(self, old: str, new: str) -> int:
        """Copy and delete, as on a flat account: through the cache, so not atomic."""
        source, target = old.strip("/"), new.strip("/")
        blob = self._find(source) if source not in self._dirty else None
        if blob is not None and blob.is_folder:
            raise mfusepy.FuseOSError(errno.EXDEV)
        local = self._cache.ensure(blob) if blob else self._cache.path(source)
        os.makedirs(os.path.dirname(self._cache.path(target)), exist_ok=True)
        os.replace(local, self._cache.path(target))
        self._dirty.add(target)
        self._upload(target)
        if source not in self._dirty:
            self._change(lambda: self._container.delete(source))
        self._dirty.discard(source)
        self._remember(source, None)
        return 0

    def _change(self, change: Callable[[], None]) -> None:
        try:
            change()
        except StorageError as error:
            raise told(error) from error

    def statfs(self, path: str) -> dict[str, int]:
        """The cache disk's numbers, as the real program shows."""
        facts = os.statvfs(self._options.cache)
        names = (
            "f_bsize",
            "f_frsize",
            "f_blocks",
            "f_bfree",
            "f_bavail",
            "f_files",
            "f_ffree",
            "f_favail",
            "f_namemax",
        )
        return {name: getattr(facts, name) for name in names}

    def utimens(self, path: str, times: Any = None) -> int:
        """Accepted and forgotten: a blob has its own time."""
        return 0

    def chmod(self, path: str, mode: int) -> int:
        """Accepted and forgotten."""
        return 0

    def chown(self, path: str, uid: int, gid: int) -> int:
        """Accepted and forgotten."""
        return 0
