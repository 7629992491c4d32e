"""The Grafana dashboards that the chart ships, written by `python -m dashboards --write`.

For development only: the operator's image has neither this package nor Grafana's SDK.
"""
