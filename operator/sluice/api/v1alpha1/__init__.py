"""Version v1alpha1 of the group sluice.dev: one module for each kind, and for each part of a spec."""
