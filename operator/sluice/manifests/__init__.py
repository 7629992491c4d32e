"""Pure builders: from the core's records to the objects that Kubernetes gets."""
