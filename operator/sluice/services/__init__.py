"""Use cases: read, decide in the core, write. They know ports, not adapters, and hold no policy of their own."""
