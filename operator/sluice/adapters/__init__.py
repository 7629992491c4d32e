"""One foreign system each: the Kubernetes API, the drivers' agents, the clock. They know ports, not services."""
