"""pulumirpc.ResourceProvider for azure-native in a rehearsal. Check, Diff and preview are answered here, the rest by
ARM."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import plugin_pb2, status_pb2
from pulumi.runtime.proto import provider_pb2 as pb
from pulumi.runtime.proto import provider_pb2_grpc as pbg

from sandbox.provider import shape
from sandbox.provider.arm import ArmClient, ArmError
from sandbox.provider.difference import changes
from sandbox.provider.model import Row, find

AUTONAMED = "__createBeforeDelete"
"""Hidden input of azure-native: the name was made up, so a replacement may exist beside the old one."""

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"


class Provider(pbg.ResourceProviderServicer):
    """One engine's provider; `stop` is set when the engine is done with it."""

    def __init__(self, arm: ArmClient, version: str) -> None:
        self.arm, self.version, self.stop = arm, version, threading.Event()
        self._config: dict[str, Any] = {}

    # -- life
    def Handshake(self, request: Any, context: Any) -> Any:
        # Declining secrets, resources and outputs makes every value plain; the engine marks secrets again by their key.
        return pb.ProviderHandshakeResponse(supports_autonaming_configuration=True)

    def Attach(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=self.version)

    def GetSchema(self, request: Any, context: Any) -> Any:
        return pb.GetSchemaResponse(
            schema=json.dumps({"name": "azure-native", "version": self.version, "resources": {}})
        )

    def CheckConfig(self, request: Any, context: Any) -> Any:
        return pb.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        same = _read(request.olds) == _read(request.news)
        return pb.DiffResponse(changes=pb.DiffResponse.DIFF_NONE if same else pb.DiffResponse.DIFF_SOME)

    def Configure(self, request: Any, context: Any) -> Any:
        self._config = _read(request.args)
        return pb.ConfigureResponse(supportsPreview=True, supports_autonaming_configuration=True)

    def Cancel(self, request: Any, context: Any) -> Any:
        self.stop.set()
        return empty_pb2.Empty()

    # -- resources
    def Check(self, request: Any, context: Any) -> Any:
        row, inputs, olds = self._row(request.type, context), _read(request.news), _read(request.olds)
        failures = []
        if row.name not in inputs:
            name = self._auto_name(row, request, olds)
            if name is None:
                failures.append(
                    pb.CheckFailure(property=row.name, reason="automatic naming is disabled: give it a name")
                )
            else:
                inputs[row.name] = name
                inputs[AUTONAMED] = True
        for key in row.path_inputs:
            if key not in inputs:
                failures.append(pb.CheckFailure(property=key, reason=f"missing required property {key!r}"))
        if row.located and "location" not in inputs:
            location = olds.get("location") or self._config.get("location") or self._group_location(inputs)
            if location:
                inputs["location"] = location
        return pb.CheckResponse(inputs=_write(inputs), failures=failures)

    def Diff(self, request: Any, context: Any) -> Any:
        row, old, new = self._row(request.type, context), _read(request.old_inputs), _read(request.news)
        found = changes(row, old, new, list(request.ignoreChanges))
        kinds = {c.path: getattr(pb.PropertyDiff, c.kind + ("_REPLACE" if c.replaces else "")) for c in found}
        replaces = sorted({re.split(r"[.\[]", c.path)[0] for c in found if c.replaces})
        return pb.DiffResponse(
            changes=pb.DiffResponse.DIFF_SOME if found else pb.DiffResponse.DIFF_NONE,
            diffs=sorted({re.split(r"[.\[]", c.path)[0] for c in found}),
            detailedDiff={path: pb.PropertyDiff(kind=kind, inputDiff=True) for path, kind in kinds.items()},
            hasDetailedDiff=True,
            replaces=replaces,
            deleteBeforeReplace=bool(replaces) and not old.get(AUTONAMED),
        )

    def Create(self, request: Any, context: Any) -> Any:
        row, inputs = self._row(request.type, context), _read(request.properties)
        if request.preview:
            return pb.CreateResponse(id="", properties=_write(self._preview(row, inputs)))
        rid = shape.resource_id(row, inputs, self._subscription)
        with _told(context, rid):
            existing = self.arm.get(rid)
            if existing is not None and not row.singleton:
                context.abort(grpc.StatusCode.ALREADY_EXISTS, f"cannot create already existing resource '{rid}'")
            made = self._put(rid, row, inputs, context)
        return pb.CreateResponse(id=made["id"], properties=_write(shape.from_arm(made)))

    def Read(self, request: Any, context: Any) -> Any:
        row, inputs = self._row(request.type, context), _read(request.inputs)
        with _told(context, request.id):
            found = self.arm.get(request.id)
        if found is None:
            return pb.ReadResponse()  # an empty id tells the engine that it is gone
        outputs = shape.from_arm(found)
        now = shape.drifted(inputs, outputs) if inputs else {k: v for k, v in outputs.items() if k not in row.unknown}
        return pb.ReadResponse(id=found["id"], properties=_write(outputs), inputs=_write(now))

    def Update(self, request: Any, context: Any) -> Any:
        row, inputs = self._row(request.type, context), _read(request.news)
        if request.preview:
            return pb.UpdateResponse(properties=_write({**_read(request.olds), **self._echo(inputs)}))
        with _told(context, request.id):
            made = self._put(request.id, row, inputs, context)
        return pb.UpdateResponse(properties=_write(shape.from_arm(made)))

    def Delete(self, request: Any, context: Any) -> Any:
        row = self._row(request.type, context)
        with _told(context, request.id):
            if row.singleton:
                self.arm.put(request.id, {"properties": {}})
            else:
                self.arm.delete(request.id)
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:
        if request.tok == "azure-native:authorization:getClientConfig":
            facts = dict.fromkeys(("clientId", "objectId", "tenantId"), "sandbox")
            return pb.InvokeResponse(**{"return": _write({**facts, "subscriptionId": self._subscription})})
        context.abort(
            grpc.StatusCode.INVALID_ARGUMENT,
            f"{request.tok} is not simulated. Keys are never listed here: a program that needs one is wrong.",
        )

    # -- inside
    def _put(self, rid: str, row: Row, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Put the resource. One that exists but was not finished goes into the state with its reason, as azure-native
        does it: the next `up` goes on with it instead of stumbling over it."""
        try:
            return self.arm.put(rid, shape.to_arm(row, inputs))
        except ArmError as error:
            found = self.arm.get(rid) if error.begun else None
            if found is None:
                raise
            text = f"{error.code}: {error.message} ({rid})"
            partial = pb.ErrorResourceInitFailed(
                id=found["id"], properties=_write(shape.from_arm(found)), reasons=[text], inputs=_write(inputs)
            )
            context.abort_with_status(_Unfinished(text, partial))
            raise

    @property
    def _subscription(self) -> str:
        return str(self._config.get("subscriptionId") or SUBSCRIPTION)

    def _row(self, token: str, context: Any) -> Row:
        row = find(token)
        if row is None:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"{token} is not simulated by this sandbox (sandbox/provider/model.py)",
            )
        assert row is not None  # abort raises
        return row

    def _auto_name(self, row: Row, request: Any, olds: dict[str, Any]) -> str | None:
        if row.name in olds:
            return str(olds[row.name])
        autonaming = request.autonaming if request.HasField("autonaming") else None
        if autonaming and autonaming.mode == pb.CheckRequest.AutonamingOptions.DISABLE:
            return None
        if autonaming and autonaming.proposed_name and not row.guid:
            return str(autonaming.proposed_name)
        digest = hashlib.sha256(request.randomSeed or request.urn.encode()).hexdigest()
        if row.guid:
            return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
        return str(request.name) + digest[:8]

    def _group_location(self, inputs: dict[str, Any]) -> str | None:
        group = inputs.get("resourceGroupName")
        if not isinstance(group, str) or shape.has_unknown(group):
            return None
        try:
            found = self.arm.get(f"/subscriptions/{self._subscription}/resourceGroups/{group}")
        except ArmError:
            return None  # a preview needs no cloud; the create asks again
        return str(found["location"]) if found else None

    def _preview(self, row: Row, inputs: dict[str, Any]) -> dict[str, Any]:
        unknown = dict.fromkeys(row.unknown, shape.UNKNOWN)
        return {**self._echo(inputs), **unknown, "name": inputs.get(row.name, shape.UNKNOWN), "type": row.arm_type}

    @staticmethod
    def _echo(inputs: dict[str, Any]) -> dict[str, Any]:
        shown = {key: value for key, value in inputs.items() if not key.startswith("__")}
        if isinstance(shown.get("identity"), dict) and shown["identity"].get("userAssignedIdentities"):
            shown["identity"] = shape.UNKNOWN  # a list of ids going in, a map coming out: only ARM knows the map
        return shown


class _told:
    """Turns ArmError into the gRPC status that tells the engine: known to have failed, and why."""

    def __init__(self, context: Any, rid: str) -> None:
        self._context, self._rid = context, rid

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ArmError):
            code = grpc.StatusCode.UNAVAILABLE if error.code == "NoController" else grpc.StatusCode.FAILED_PRECONDITION
            text = error.message if error.code == "NoController" else f"{error.code}: {error.message} ({self._rid})"
            self._context.abort(code, text)


class _Unfinished(grpc.Status):
    """A gRPC status that carries the resource as far as it was made."""

    def __init__(self, text: str, partial: Any) -> None:
        self.code, self.details = grpc.StatusCode.UNKNOWN, text
        status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=text)
        status.details.add().Pack(partial)
        self.trailing_metadata = (("grpc-status-details-bin", status.SerializeToString()),)


def _read(message: Any) -> dict[str, Any]:
    value = shape.plain(json_format.MessageToDict(message)) if message is not None else {}
    return value if isinstance(value, dict) else {}


def _write(value: dict[str, Any]) -> struct_pb2.Struct:
    message = struct_pb2.Struct()
    message.update(value)
    return message
