"""The stores behind the gateway: one Azurite per storage account, started at its first request, on loopback only."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import os
import secrets
import shutil
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas
from azure.storage.blob.aio import BlobServiceClient

from sandbox.gateway.child import Child
from sandbox.gateway.endpoints import CurrentFacts
from sandbox.identity.files import write_private

if TYPE_CHECKING:
    from sandbox.cloud import Cloud
    from sandbox.layout import Layout

_LOG = logging.getLogger("sandbox.azurite")
logging.getLogger("azure.core.pipeline").setLevel(logging.WARNING)  # it writes every request's headers at INFO
_START_LIMIT_S = 45.0  # a cold start on two busy cores took 3 s
_SAS_LIFE = timedelta(days=365)


class Azurites:
    """The stores of a cloud's accounts. All methods run on one event loop, inside the sandbox's network namespace."""

    def __init__(self, layout: Layout, cloud: Cloud, argv: list[str]) -> None:
        """`argv` is how Azurite's blob service is run, e.g. `["node", "…/azurite/dist/src/blob/main.js"]`."""
        self._layout, self._facts, self._argv = layout, CurrentFacts(cloud), argv
        self._stores: dict[str, _Store] = {}

    async def backend(self, account: str) -> tuple[str, str]:
        """Given an account's name, return (host:port, SAS query) of its store, started if need be. Raise RuntimeError
        if it fails.
        """
        store = await self._running(account)
        return store.address, store.sas

    async def reconcile(self) -> None:
        """Make the containers that ARM made since, in the stores that run (the others do it when they start)."""
        for account in [name for name, store in self._stores.items() if store.ready]:
            if account in self._facts().accounts:
                await self._running(account)

    async def forget_account(self, account: str) -> None:
        """Given the name of a deleted account, stop its store and remove its data and key."""
        store = self._stores.pop(account, None)
        if store is not None:
            await store.stop()
        shutil.rmtree(self._layout.azurite / account, ignore_errors=True)

    async def forget_container(self, account: str, container: str) -> None:
        """Given a container that ARM deleted, delete it in its store, if the account and its data are still there."""
        if account not in self._facts().accounts or not (self._layout.azurite / account).exists():
            return
        store = await self._running(account)
        store.known.discard(container)
        async with store.client() as client:
            with contextlib.suppress(ResourceNotFoundError):
                await client.delete_container(container)

    async def stop(self) -> None:
        """Stop every store; their data stays."""
        await asyncio.gather(*(store.stop() for store in self._stores.values()))
        self._stores.clear()

    async def store_list(self, account: str, container: str) -> list[str]:
        """Return the names of a container's blobs, read behind the gateway's back (for faults)."""
        async with (await self._running(account)).client() as client:
            return [name async for name in client.get_container_client(container).list_blob_names()]

    async def store_get(self, account: str, container: str, name: str) -> bytes:
        """Return a blob's content, read behind the gateway's back. Raise ResourceNotFoundError if it is not there."""
        async with (await self._running(account)).client() as client:
            return await (await client.get_blob_client(container, name).download_blob()).readall()

    async def store_put(self, account: str, container: str, name: str, data: bytes) -> None:
        """Write a blob behind the gateway's back; its stored MD5, metadata and type are kept if it was there before."""
        async with (await self._running(account)).client() as client:
            blob = client.get_blob_client(container, name)
            old = None
            with contextlib.suppress(ResourceNotFoundError):
                old = await blob.get_blob_properties()
            await blob.upload_blob(data, overwrite=True, metadata=old.metadata if old else None)
            if old is not None:  # afterwards: a Put Blob with another content's MD5 is refused
                await blob.set_http_headers(old.content_settings)

    async def store_delete(self, account: str, container: str, name: str) -> None:
        """Delete a blob behind the gateway's back. Raise ResourceNotFoundError if it is not there."""
        async with (await self._running(account)).client() as client:
            await client.get_blob_client(container, name).delete_blob()

    async def _running(self, account: str) -> _Store:
        """Return an account's store: running, and with every container that ARM made."""
        facts = self._facts()
        if account not in facts.accounts:
            raise RuntimeError(f"the sandbox has no storage account {account}")
        if account not in self._stores:
            self._stores[account] = _Store(self._layout, account, self._argv)
        store = self._stores[account]
        await store.ensure(facts.containers[account])
        return store


class _Store:
    """One Azurite: its folder, key, port and process."""

    def __init__(self, layout: Layout, account: str, argv: list[str]) -> None:
        self.account, self.ready, self.known = account, False, set[str]()
        self._folder = layout.azurite / account
        self._key = _account_key(layout, account)
        self._port = _free_port()
        self._lock = asyncio.Lock()
        self.address = f"127.0.0.1:{self._port}"
        self.sas = _account_sas(account, self._key)
        arguments = ["--location", str(self._folder), "--blobHost", "127.0.0.1", "--blobPort", str(self._port)]
        # --disableTelemetry: without it Azurite calls out at start.
        arguments += ["--skipApiVersionCheck", "--silent", "--disableTelemetry"]
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self._child = Child(
            f"azurite {account}",
            [*argv, *arguments],
            layout.logs / f"azurite-{account}.log",
            env={**environment, "AZURITE_ACCOUNTS": f"{account}:{self._key}"},
            on_exit=self._ended,
        )

    async def ensure(self, wanted: frozenset[str]) -> None:
        """Start the process if it does not run, wait until it listens, and make the wanted containers."""
        if self.ready and wanted <= self.known:
            return
        async with self._lock:
            if not self.ready:
                if not self._child.supervised:
                    await self._child.start()
                await self._listening()
                self.ready = True
            for container in sorted(wanted - self.known):
                await self._create(container)

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[BlobServiceClient]:
        """Yield a client of the store itself, by its key, past the gateway."""
        credential = {"account_name": self.account, "account_key": self._key}
        url = f"http://{self.address}/{self.account}"
        async with BlobServiceClient(url, credential=credential, retry_total=2) as client:
            yield client

    async def stop(self) -> None:
        """Stop the process; the data stays."""
        self.ready = False
        await self._child.stop()

    async def _create(self, container: str) -> None:
        """Make a container; one that the store refuses (a name it does not take) is logged and not tried again."""
        async with self.client() as client:
            try:
                await client.create_container(container)
            except ResourceExistsError:
                pass
            except HttpResponseError as error:
                _LOG.error("%s: the store refuses the container %s: %s", self.account, container, error.message)
        self.known.add(container)

    def _ended(self) -> None:
        """Note that the process died: the next request waits for the new one, and what it may not have saved is made
        again.
        """
        self.ready = False
        self.known.clear()

    async def _listening(self) -> None:
        """Wait until the port answers. Raise RuntimeError after the limit."""
        deadline = asyncio.get_running_loop().time() + _START_LIMIT_S
        while asyncio.get_running_loop().time() < deadline:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self._port)
                writer.close()
                return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"Azurite of {self.account} did not listen within {_START_LIMIT_S:.0f} s")


def _account_key(layout: Layout, account: str) -> str:
    """Return the account's random key, kept in a file that only its owner reads, inside the account's folder."""
    file = layout.azurite / account / "account.key"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_private(file, base64.b64encode(secrets.token_bytes(64)))
    return file.read_text(encoding="ascii")


def _account_sas(account: str, key: str) -> str:
    """Return a SAS query that allows everything in the account: nginx appends it to what the authorizer let through."""
    return generate_account_sas(
        account,
        key,
        resource_types=ResourceTypes(service=True, container=True, object=True),
        permission=AccountSasPermissions.from_string("rwdxlacuptfi"),
        start=datetime.now(UTC) - timedelta(minutes=5),
        expiry=datetime.now(UTC) + _SAS_LIFE,
        protocol="https,http",
    )


def _free_port() -> int:
    """Return a free TCP port of this namespace's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
