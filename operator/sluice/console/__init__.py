"""What `kubectl sluice` shows people: readers of a cluster and its Prometheus, and pure views of what they read.

It runs on a person's machine, with that person's rights, and changes nothing. The operator's process imports none of
it; its libraries (`kubernetes`, `rich`) come with the extra `cli`.
"""
