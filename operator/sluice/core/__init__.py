"""The pure core: records and functions of values. No clock, no network, no Kubernetes client."""
