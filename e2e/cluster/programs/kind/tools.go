//go:build tools

// Package tools names the program that is built from this module, so that go.mod pins its version.
package tools

import _ "sigs.k8s.io/kind"
