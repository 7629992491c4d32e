//go:build tools

// Package tools names the programs that are built from this module beside its own, so that go.mod
// pins their versions.
package tools

import (
	_ "helm.sh/helm/v3/cmd/helm"
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
