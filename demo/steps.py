"""What to try next: printed at the end of the demo."""

from demo.names import DRIVER, JOB, NAMESPACE, OPERATOR_NAMESPACE, RELEASE

_PATCH = f"kubectl patch sj {JOB} -n {NAMESPACE} --type=merge -p"

_SLUICE = ".venv/bin/sluice"
"""The same as `kubectl sluice`, from where `make install` puts it."""

_OF_JOB = f"{JOB} -n {NAMESPACE}"


def _mode(mode: str) -> str:
    return f"""{_PATCH} '{{"spec": {{"scaling": {{"mode": "{mode}"}}}}}}'"""


STEPS = (
    ("what runs", f"kubectl get sj,sp,pods -n {NAMESPACE}"),
    ("how it is doing, and why", f"kubectl describe sj {JOB} -n {NAMESPACE}"),
    ("only tell what would be done, and leave it to you", _mode("Observe")),
    ("a third executor by hand, live", f"kubectl scale sj {JOB} -n {NAMESPACE} --replicas=3"),
    ("let the operator choose again", _mode("Auto")),
    ("stop it, and keep its checkpoint", f"""{_PATCH} '{{"spec": {{"suspend": true}}}}'"""),
    ("go on where it stopped", f"""{_PATCH} '{{"spec": {{"suspend": false}}}}'"""),
    ("the driver's log", f"kubectl logs {DRIVER} -n {NAMESPACE} -f"),
    ("the operator's log", f"kubectl logs deploy/{RELEASE} -n {OPERATOR_NAMESPACE} -f"),
    ("Prometheus, on localhost:9090", f"kubectl port-forward svc/prometheus -n {NAMESPACE} 9090"),
    ("kubectl sluice, for what follows", "make install"),
    ("why so many executors", f"{_SLUICE} explain {_OF_JOB}"),
    ("what was decided, and what became of it", f"{_SLUICE} history {_OF_JOB}"),
    ("kill the driver once more, and see its recovery", f"{_SLUICE} drill {_OF_JOB} --kill driver"),
)


def next_steps() -> str:
    """The commands, each below what it is for."""
    tried = "\n".join(f"  # {purpose}\n  {command}" for purpose, command in STEPS)
    return (
        "Everything goes on running. kubectl for this cluster, in a shell:\n"
        '  eval "$(python3 -m e2e.cluster env)"\n'
        f"To look further:\n{tried}\n"
        "To remove the demo: make demo-down\n"
        f"To keep it as a page: {_SLUICE} report {_OF_JOB} --since 30m --output demo.html"
    )
