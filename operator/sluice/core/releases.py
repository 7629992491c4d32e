"""The releases of Spark that this operator was tried with on a cluster; docs/writing-a-job.md says how far.

The agent asks Spark for more than its public interface tells, so others may work, in part or not at all.
"""

TRIED = ("3.5", "4.1", "4.2")


def is_tried(version: str) -> bool:
    """Whether a version, such as 4.2.0, is of one of these releases."""
    return ".".join(version.split(".")[:2]) in TRIED
