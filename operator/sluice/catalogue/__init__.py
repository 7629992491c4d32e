"""Every metric that Sluice exports: name, type, unit, labels and meaning. Names and labels are an API.

The pages, dashboards and rules are held to this list by tests, and so are the exporters. The agent in the driver
imports nothing of Sluice, so it has its own copy of its part.
"""

from sluice.catalogue import agent, operator
from sluice.catalogue.metric import Metric

AGENT: tuple[Metric, ...] = (*agent.QUERY_METRICS, *agent.DRIVER_METRICS)
OPERATOR: tuple[Metric, ...] = (
    *operator.PROCESS_METRICS,
    *operator.FLEET_METRICS,
    *operator.JOB_METRICS,
    *operator.PROFILE_METRICS,
)
ALL: tuple[Metric, ...] = (*AGENT, *OPERATOR)
