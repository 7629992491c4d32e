"""What to try next: printed at the end of the demo."""

from demo.names import DRIVER, JOB, NAMESPACE, OPERATOR_NAMESPACE, RELEASE

_PATCH = f"kubectl patch sj {JOB} -n {NAMESPACE} --type=merge -p"

_SCALING = f"kubectl get sj {JOB} -n {NAMESPACE} -o jsonpath"

STEPS = (
    ("what runs", f"kubectl get sj,pods -n {NAMESPACE}"),
    ("how it is doing, and why", f"kubectl describe sj {JOB} -n {NAMESPACE}"),
    ("a third executor, live", f"kubectl scale sj {JOB} -n {NAMESPACE} --replicas=3"),
    ("what the operator would do, and why", f"{_SCALING}='{{.status.decision}}'"),
    ("let it", f"""{_PATCH} '{{"spec": {{"scaling": {{"mode": "Auto"}}}}}}'"""),
    ("kill the driver ...", f"kubectl delete pod {DRIVER} -n {NAMESPACE} --grace-period=0 --force"),
    ("... and watch it recover", f"kubectl get sj {JOB} -n {NAMESPACE} -w"),
    ("stop it, and keep its checkpoint", f"""{_PATCH} '{{"spec": {{"suspend": true}}}}'"""),
    ("go on where it stopped", f"""{_PATCH} '{{"spec": {{"suspend": false}}}}'"""),
    ("the driver's log", f"kubectl logs {DRIVER} -n {NAMESPACE} -f"),
    ("the operator's log", f"kubectl logs deploy/{RELEASE} -n {OPERATOR_NAMESPACE} -f"),
    ("Prometheus, on localhost:9090", f"kubectl port-forward svc/prometheus -n {NAMESPACE} 9090"),
)


def next_steps() -> str:
    """The commands, each below what it is for."""
    tried = "\n".join(f"  # {purpose}\n  {command}" for purpose, command in STEPS)
    return (
        "Everything goes on running. kubectl for this cluster, in a shell:\n"
        '  eval "$(python3 -m e2e.cluster env)"\n'
        f"To look further:\n{tried}\n"
        "To remove the demo: make demo-down"
    )
