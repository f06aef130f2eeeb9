"""Our small Python language host: what `pulumi-language-python` does, for the CLI that we build ourselves.

Pulumi's own host is a Go module that no registry serves by a version. Where the official installer brought it, that one
is used and this package is not. Protocol: proto/pulumi/language.proto of Pulumi 3.274.
"""
