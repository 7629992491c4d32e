"""The one exception of the local cluster: its text says what was wrong and what to do about it."""


class ClusterError(Exception):
    """Something about the host or the cluster stops a command; the message names the remedy."""
