//go:build tools

// Package tools pins the Pulumi CLI that the registry route builds.
package tools

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
