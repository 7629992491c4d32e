//go:build tools

// Package tools names the program that is built from this module: metrics-server needs newer
// Kubernetes packages than the cluster is made of, so it cannot share its module.
package tools

import _ "sigs.k8s.io/metrics-server/cmd/metrics-server"
