"""Faults, done to a running job on the real cluster, and what became of it.

catalogue   what can be done to it
field       whom it is done to: the job, its pods' processes, the operator, the machines
campaign    one fault after the other at random moments, until the job is healthy again each time
"""
