"""The data plane's front door: DNS, TLS, authorization by RBAC, and one Azurite per storage account behind it."""
