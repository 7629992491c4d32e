//go:build tools

// Package tools names the program that is built from this module: promtool, which checks and tries the alert rules.
package tools

import _ "github.com/prometheus/prometheus/cmd/promtool"
