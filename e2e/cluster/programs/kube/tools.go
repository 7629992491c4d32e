//go:build tools

// Package tools names the program that is built from this module beside its own, so that go.mod pins
// its version.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
