"""Builds the container images of the product, the demo and the tests, and hands them to the local cluster.

`python3 -m e2e.images [NAME...]` needs only the standard library. Docker, Podman or nerdctl builds where it
answers, else buildah from a base that debootstrap makes; the recipes are the same. What was built is kept as archives
under $SLUICE_CACHE/images, named by a hash of all that went in.
"""

from e2e.images.recipes import image_reference

__all__ = ["image_reference"]
