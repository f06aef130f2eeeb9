"""The small cluster, for the tests of the runbook's own side."""

from tests.shared.small_cluster import cluster as cluster
