{{- define "sluice.name" -}}
{{- if contains "sluice" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-sluice{{ end }}
{{- end }}

{{- define "sluice.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "sluice.name" .) }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- /* A version may end in +BUILD, as where Flux adds a commit or a digest; a label's value may not hold a plus. */}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* The labels of an object that others choose by theirs, which win: no key may stand twice. */}}
{{- define "sluice.labelsWith" -}}
{{- merge dict (.own | default dict) (include "sluice.labels" .root | fromYaml) | toYaml }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: operator
{{- end }}

{{/* What the operator may do where the jobs are. It hands the drivers no right that it has not itself. */}}
{{- define "sluice.rules" -}}
- apiGroups: [sluice.dev]
  # Made and deleted are copies of jobs, for profiling.
  resources: [streamjobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [sluice.dev]
  # It makes some by itself, and removes those that are old.
  resources: [streamprofiles]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  # Its annotation says whether copies of jobs may be made in it.
  resources: [namespaces]
  verbs: [get]
- apiGroups: [sluice.dev]
  resources: [streamprofiles/status]
  verbs: [patch]
- apiGroups: [""]
  # A copy's claim is like that of its job, which is read for it.
  resources: [persistentvolumeclaims]
  verbs: [get, list, create, delete]
- apiGroups: [sluice.dev]
  resources: [streamjobs/status]
  verbs: [patch]
- apiGroups: [sluice.dev]
  # To be owner of children with blockOwnerDeletion.
  resources: [streamjobs/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [pods]
  verbs: [create, get, list, watch, delete, deletecollection]
- apiGroups: [""]
  # To change the CPU of executors that run.
  resources: [pods/resize]
  verbs: [patch]
- apiGroups: [""]
  # Read are NAME-last-good, NAME-scaling, and those that a profiled job uses.
  resources: [configmaps]
  verbs: [create, get, patch, delete, deletecollection]
- apiGroups: [""]
  # Written, never read.
  resources: [secrets]
  verbs: [create, patch]
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [create, patch]
- apiGroups: [coordination.k8s.io]
  # The Leases of checkpoints. Drivers get the right to hold theirs, and nobody may give what he has not.
  resources: [leases]
  verbs: [create, get, update]
- apiGroups: [""]
  # Written about jobs, and read of pods whose containers are not made.
  resources: [events]
  verbs: [create, list]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [create, patch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [create, patch]
{{- end }}
