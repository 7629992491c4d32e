//go:build tools

// Package tools names the program that is built from this module, so that go.mod pins its version.
// It is a module of its own, because kwok 0.7.0 does not compile with the Kubernetes of ../kube.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
