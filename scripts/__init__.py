"""The runbook: Fabric tasks that bring a cluster from `pulumi up` to the hand-off. `ns` is what `fab` shows."""

from invoke import Collection

from scripts import access, cache, cluster, doctor, handoff, ingest, nvme, ready, size, validate, watch

ns = Collection("feedline")
for _task in (
    doctor.doctor,
    access.access,
    ingest.ingest,
    nvme.nvme,
    cache.cache,
    validate.validate,
    handoff.handoff,
    ready.ready,
    size.size,
    watch.watch,
):
    ns.add_task(_task)

_cluster = Collection("cluster")
for _task in (cluster.drift, cluster.shadow, cluster.replace, cluster.teardown):
    _cluster.add_task(_task)
ns.add_collection(_cluster)
