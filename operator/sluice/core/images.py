"""What tells an image by its content: the digest, in its name or in what a kubelet says of a container."""

import re

_DIGEST = re.compile(r"(?:^|@|//)(sha256:[0-9a-f]{64})$")


def digest_in(reference: str) -> str | None:
    """The digest at the end of `REPOSITORY@sha256:...`, or of a mere `sha256:...`; of a tag alone nothing is known.

    Some runtimes write their own name before it, as in `docker://sha256:...`.
    """
    found = _DIGEST.search(reference)
    return found.group(1) if found else None
