"""The operator's own metrics: what is measured while it works, and what it has seen of the jobs.

Serving them over HTTP is the adapter's affair.
"""
