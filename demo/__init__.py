"""`make demo`: one streaming job under a swinging load on the local cluster, looked after by the operator.

Standard library only, so that it runs before anything is installed. The cluster and the images are e2e's.
"""
