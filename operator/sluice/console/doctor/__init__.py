"""Examine an installation: each check is a value with a verdict, what was found, and how to mend it.

What is asked of the cluster is in `examining`; what the answers mean is decided by pure functions beside it.
"""
