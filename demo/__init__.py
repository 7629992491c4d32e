"""`make demo`: a streaming job under a load that comes and goes, looked after by the operator on the local cluster.

Standard library only, so that it runs before anything is installed. The cluster and the images are e2e's.
"""
