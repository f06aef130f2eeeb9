"""nginx as the blob endpoints' front: TLS, the authorizer's yes or no, then Azurite; and the packages server.

The configuration names no account and no private endpoint: nginx listens on every address of the sandbox's namespace,
one wildcard
certificate answers for all accounts (as Azure's does), and the authorizer says which store is behind a request. So it
never reloads.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING

from sandbox.gateway.child import Child
from sandbox.gateway.endpoints import DOMAIN, PACKAGES_ADDRESS, PACKAGES_HOST
from sandbox.gateway.tls import ensure_server_certificate

if TYPE_CHECKING:
    from sandbox.layout import Layout

WORKERS = 2
NO_DFS = "FeedlineSandboxNoDfs"
_START_LIMIT_S = 10.0

_TEMPLATE = r"""# Rendered by sandbox/gateway/nginx.py; paths are relative to this folder.
daemon off;
user root;
worker_processes @WORKERS@;
pid nginx.pid;
error_log stderr warn;
events { worker_connections 2048; }
http {
  default_type application/octet-stream;
  # The path without its query: a query can hold a signature, and $uri would show where a refusal was fetched from.
  map $request_uri $path { "~^(?<before>[^?]*)" $before; }
  log_format feedline '$time_iso8601 $remote_addr>$server_addr $request_method $host$path $status sent=$bytes_sent'
                      ' got=$request_length time=$request_time code=$sent_http_x_ms_error_code';
  access_log "@LOGS@/gateway-access.log" feedline buffer=32k flush=1s;
  client_body_temp_path temp/body;
  proxy_temp_path temp/proxy;
  fastcgi_temp_path temp/fastcgi;
  uwsgi_temp_path temp/uwsgi;
  scgi_temp_path temp/scgi;
  server_tokens off;
  client_max_body_size 0;
  underscores_in_headers on; # x-ms-meta-hdi_isfolder marks a folder; without this nginx drops it
  large_client_header_buffers 8 32k;
  keepalive_timeout 75s;
  keepalive_requests 1000000;
  sendfile on;
  ssl_certificate tls.pem;
  ssl_certificate_key tls.key;
  ssl_protocols TLSv1.2 TLSv1.3;
  ssl_session_cache shared:tls:2m;
  # auth_request hands over the query as it is; the signature is appended to it or starts it.
  map $is_args $separator { "?" "&"; default "?"; }
  upstream authorizer { server "unix:@SOCKET@"; keepalive 16; }

  server {
    listen 443 ssl default_server backlog=1024;
    server_name ~\.blob\.@DOMAIN@$;
    proxy_http_version 1.1;
    proxy_read_timeout 600s;
    proxy_send_timeout 600s;
    location / {
      auth_request /_feedline_authorize;
      auth_request_set $backend $upstream_http_x_sandbox_backend;
      auth_request_set $sas $upstream_http_x_sandbox_sas;
      auth_request_set $answer $upstream_http_x_sandbox_answer;
      error_page 401 403 = @answer;
      error_page 500 502 504 = @broken;
      # Both ways the bytes go straight through: nothing is spooled to disk, the client's pace is the store's.
      proxy_request_buffering off;
      proxy_buffering off;
      proxy_buffer_size 64k;
      proxy_buffers 8 64k;
      proxy_busy_buffers_size 128k;
      proxy_set_header Host $host;
      proxy_set_header Authorization "";
      proxy_set_header Connection "";
      proxy_pass http://$backend$request_uri$separator$sas;
    }
    location = /_feedline_authorize {
      internal;
      access_log off;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_set_header Transfer-Encoding "";
      proxy_set_header Connection "";
      proxy_set_header X-Sandbox-Method $request_method;
      proxy_set_header X-Sandbox-Host $host;
      proxy_set_header X-Sandbox-Uri $request_uri;
      proxy_set_header X-Sandbox-Client $remote_addr;
      proxy_set_header X-Sandbox-Server $server_addr;
      proxy_pass http://authorizer/authorize;
    }
    location @answer {
      # A refused upload is read to its end (or the client would see a broken pipe), in memory.
      client_body_buffer_size 16m;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_set_header Transfer-Encoding "";
      proxy_set_header Connection "";
      proxy_set_header X-Sandbox-Method $request_method;
      proxy_set_header X-Sandbox-Answer $answer;
      rewrite ^ /answer break;
      proxy_pass http://authorizer;
    }
    location @broken {
      default_type application/xml;
      add_header x-ms-error-code ServerBusy always;
      add_header x-ms-request-id $request_id always;
      return 503 '@BROKEN_BODY@';
    }
  }

  server {
    listen 443 ssl;
    server_name ~\.dfs\.@DOMAIN@$;
    location / {
      default_type application/xml;
      add_header x-ms-error-code @NO_DFS@ always;
      add_header x-ms-request-id $request_id always;
      return 501 '@NO_DFS_BODY@';
    }
  }

  server {
    listen @PACKAGES_ADDRESS@:80;
    server_name @PACKAGES_HOST@;
    root "@PACKAGES@";
    autoindex on;
  }
}
"""


def render(layout: Layout) -> str:
    """Given a sandbox's paths, return its nginx configuration (to be read with `Layout.gateway` as prefix)."""
    values = {
        "WORKERS": str(WORKERS),
        "BROKEN_BODY": _error(
            "ServerBusy", "The sandbox could not ask its authorizer or reach its store: see nginx.log."
        ),
        "NO_DFS_BODY": _error(
            NO_DFS,
            "The sandbox has no Data Lake (dfs) interface: use the blob endpoint of the account. "
            "What needs dfs is not rehearsed.",
        ),
        "LOGS": os.path.relpath(layout.logs, layout.gateway),
        "PACKAGES": os.path.relpath(layout.packages, layout.gateway),
        "SOCKET": str(layout.authorizer_socket),
        "DOMAIN": DOMAIN.replace(".", r"\."),
        "NO_DFS": NO_DFS,
        "PACKAGES_ADDRESS": PACKAGES_ADDRESS,
        "PACKAGES_HOST": PACKAGES_HOST,
    }
    text = _TEMPLATE
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _error(code: str, message: str) -> str:
    """Return Azure Storage's XML error body; neither part may hold a quote or a dollar (they are nginx's)."""
    xml = '<?xml version="1.0" encoding="utf-8"?>'
    return f"{xml}<Error><Code>{code}</Code><Message>{message}</Message></Error>"


class Nginx:
    """The gateway's nginx: written, tested, started, stopped."""

    def __init__(self, layout: Layout, program: str = "nginx") -> None:
        self._layout = layout
        prefix = str(layout.gateway)
        self._argv = [program, "-e", "stderr", "-p", prefix, "-c", str(layout.gateway / "nginx.conf")]
        self._child = Child("nginx", self._argv, layout.logs / "nginx.log")

    async def start(self) -> None:
        """Write the configuration and start nginx. Raise RuntimeError with nginx's own words if it refuses it."""
        ensure_server_certificate(self._layout)
        (self._layout.gateway / "temp").mkdir(parents=True, exist_ok=True)
        self._layout.logs.mkdir(parents=True, exist_ok=True)
        (self._layout.gateway / "nginx.conf").write_text(render(self._layout), encoding="utf-8")
        await self._test()
        await self._child.start()
        await self._listening()

    async def stop(self) -> None:
        """Stop nginx and its workers."""
        await self._child.stop()

    async def _test(self) -> None:
        """Let nginx check its configuration. Raise RuntimeError if it finds a fault."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv, "-t", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
            )
        except OSError as error:
            raise RuntimeError(f"nginx: cannot run {self._argv[0]}: {error.strerror}") from error
        output, _ = await process.communicate()
        if process.returncode != 0:
            raise RuntimeError(
                f"nginx refuses {self._layout.gateway / 'nginx.conf'}:\n{output.decode(errors='replace')}"
            )

    async def _listening(self) -> None:
        """Wait until port 443 answers. Raise RuntimeError after the limit."""
        deadline = asyncio.get_running_loop().time() + _START_LIMIT_S
        while asyncio.get_running_loop().time() < deadline:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", 443)
                writer.close()
                return
            await asyncio.sleep(0.02)
        log = self._layout.logs / "nginx.log"
        raise RuntimeError(f"nginx did not listen on port 443 within {_START_LIMIT_S:.0f} s: see {log}")
