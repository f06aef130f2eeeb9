"""Says yes or no to every Blob request, as Azure would: network, scheme, token, role assignments – in that order.

nginx asks on `/authorize` (auth_request) before it passes a request on, and shows what `/answer` says when the answer
is no:
auth_request itself knows only 2xx, 401 and 403, so the decision travels as one header and `/answer` makes Azure's
response of it.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from email.utils import formatdate
from typing import TYPE_CHECKING, Protocol
from xml.sax.saxutils import escape

from aiohttp import web

from sandbox.gateway.decision import Allow, Answer, Request, decide
from sandbox.gateway.endpoints import CurrentFacts
from sandbox.identity.tokens import Tokens

if TYPE_CHECKING:
    from sandbox.cloud import Cloud

_LOG = logging.getLogger("sandbox.authorizer")


class Backend(Protocol):
    """What the authorizer needs of `sandbox.gateway.azurite.Azurites`."""

    async def backend(self, account: str) -> tuple[str, str]:
        """Given an account's name, return (host:port, SAS query) of its running store. Raise RuntimeError if it cannot
        be started.
        """


def make_app(
    cloud: Cloud,
    tokens: Tokens,
    azurite: Backend,
    *,
    clock: Callable[[], float] = time.time,
) -> web.Application:
    """Given the cloud, its tokens and the stores, return the application nginx asks (serve it on
    `Layout.authorizer_socket`).
    """

    facts = CurrentFacts(cloud)

    async def authorize(request: web.Request) -> web.Response:
        asked = _asked(request)
        answer = decide(cloud, facts(), tokens, asked, clock())
        if isinstance(answer, Allow):
            try:
                address, sas = await azurite.backend(answer.account)
                return web.Response(
                    status=204,
                    headers={"X-Sandbox-Backend": address, "X-Sandbox-Sas": sas},
                )
            except RuntimeError as error:
                answer = Answer(
                    503,
                    "ServerBusy",
                    f"The sandbox's store of {asked.host} did not start: {error}",
                )
        _LOG.log(
            logging.INFO if answer.status < 500 else logging.ERROR,
            "%s %s%s from %s at %s: %d %s %s",
            asked.method,
            asked.host,
            asked.uri.partition("?")[0],
            asked.client,
            asked.server,
            answer.status,
            answer.code,
            answer.detail or answer.message,
        )
        return web.Response(status=403, headers={"X-Sandbox-Answer": answer.packed()})

    async def answer(request: web.Request) -> web.Response:
        return respond(
            Answer.unpacked(request.headers.get("X-Sandbox-Answer", "")),
            request.headers.get("X-Sandbox-Method", "GET"),
        )

    app = web.Application()
    app.router.add_route("*", "/authorize", authorize)
    app.router.add_route("*", "/answer", answer)
    return app


def respond(answer: Answer, method: str) -> web.Response:
    """Given an answer and the original method, return Azure Storage's HTTP response: XML error body, error code and
    request id headers.
    """
    request_id = str(uuid.uuid4())
    headers = {
        "x-ms-request-id": request_id,
        "x-ms-version": "2021-12-02",
        "Date": formatdate(usegmt=True),
        **dict(answer.headers),
    }
    if answer.status < 400:
        return web.Response(status=answer.status, headers=headers)
    headers["x-ms-error-code"] = answer.code
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    detail = f"<AuthenticationErrorDetail>{escape(answer.detail)}</AuthenticationErrorDetail>" if answer.detail else ""
    body = (
        f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{answer.code}</Code><Message>{escape(answer.message)}\n'
        f"RequestId:{request_id}\nTime:{stamp}.0000000Z</Message>{detail}</Error>"
    )
    return web.Response(
        status=answer.status,
        headers=headers,
        content_type="application/xml",
        body=b"" if method == "HEAD" else body.encode(),
    )


def _asked(request: web.Request) -> Request:
    """Read the original request out of the headers nginx sets (it overwrites any a client sends under these names)."""
    headers = request.headers
    return Request(
        method=headers.get("X-Sandbox-Method", ""),
        host=headers.get("X-Sandbox-Host", "").lower(),
        uri=headers.get("X-Sandbox-Uri", ""),
        client=headers.get("X-Sandbox-Client", ""),
        server=headers.get("X-Sandbox-Server", ""),
        authorization=headers.get("Authorization", ""),
        copy_source=headers.get("x-ms-copy-source", ""),
    )
