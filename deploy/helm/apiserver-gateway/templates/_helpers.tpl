{{- define "gateway.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "gateway.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "gateway.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "gateway.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gateway.labels" -}}
app.kubernetes.io/name: {{ include "gateway.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Selects the pods of one component: (list $ "gateway") */}}
{{- define "gateway.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "gateway.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "gateway.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{- define "gateway.etcdImage" -}}
{{ .Values.etcd.image.repository }}:{{ .Values.etcd.image.tag }}{{ with .Values.etcd.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{- define "gateway.serviceAccount" -}}
{{- default (.Values.serviceAccount.create | ternary (include "gateway.fullname" .) "default") .Values.serviceAccount.name -}}
{{- end -}}

{{/* All that the restricted Pod Security level asks of a pod, and of a container: (list $ "the service account") */}}
{{- define "gateway.podSecurity" -}}
{{- $account := index . 1 -}}
{{- with index . 0 -}}
serviceAccountName: {{ $account }}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "gateway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Where pods of one component go: (list $ "gateway") */}}
{{- define "gateway.placement" -}}
{{- $root := index . 0 -}}
{{- if ne $root.Values.podAntiAffinity "none" }}
affinity:
  podAntiAffinity:
    {{- if eq $root.Values.podAntiAffinity "hard" }}
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{ include "gateway.selector" . | nindent 12 }}
    {{- else }}
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{ include "gateway.selector" . | nindent 14 }}
    {{- end }}
{{- end }}
{{- if $root.Values.topologySpread }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ include "gateway.selector" . | nindent 8 }}
{{- end }}
{{- end -}}

{{/* Host names of the Service, and those that are given, separated by commas */}}
{{- define "gateway.hosts" -}}
{{- $name := include "gateway.fullname" . -}}
{{- $own := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) -}}
{{- $more := list -}}
{{- if .Values.ingress.enabled -}}{{- $more = append $more .Values.ingress.host -}}{{- end -}}
{{- if .Values.tlsRoute.enabled -}}{{- $more = concat $more .Values.tlsRoute.hostnames -}}{{- end -}}
{{- with .Values.admin.server -}}{{- $more = append $more (regexReplaceAll ":[0-9]+$" (urlParse .).host "") -}}{{- end -}}
{{- concat $own $more .Values.certificates.names | uniq | join "," -}}
{{- end -}}

{{- define "gateway.server" -}}
{{- default (printf "https://%s.%s.svc:%v" (include "gateway.fullname" .) .Release.Namespace .Values.service.port) .Values.admin.server -}}
{{- end -}}

{{/* The Secret with the serving certificate, where it is not generated */}}
{{- define "gateway.tlsSecret" -}}
{{- if eq .Values.certificates.mode "certManager" -}}
{{- printf "%s-tls" (include "gateway.fullname" .) -}}
{{- else -}}
{{- .Values.certificates.secretName -}}
{{- end -}}
{{- end -}}

{{- define "gateway.etcdName" -}}
{{ include "gateway.fullname" . }}-etcd
{{- end -}}

{{/* The Secret with which gateways show themselves to etcd; empty without TLS */}}
{{- define "gateway.etcdTLSSecret" -}}
{{- if eq .Values.etcd.mode "bundled" -}}
{{- printf "%s-client" (include "gateway.etcdName" .) -}}
{{- else -}}
{{- .Values.etcd.external.tlsSecretName -}}
{{- end -}}
{{- end -}}

{{- define "gateway.etcdEndpoints" -}}
{{- if eq .Values.etcd.mode "bundled" -}}
{{- $endpoints := list -}}
{{- $name := include "gateway.etcdName" . -}}
{{- range until (int .Values.etcd.replicaCount) -}}
{{- $endpoints = append $endpoints (printf "https://%s-%d.%s.%s.svc:2379" $name . $name $.Release.Namespace) -}}
{{- end -}}
{{- join "," $endpoints -}}
{{- else -}}
{{- join "," .Values.etcd.external.endpoints -}}
{{- end -}}
{{- end -}}

{{/* How a command in a pod of a CronJob reaches etcd */}}
{{- define "gateway.etcdFlags" -}}
- --etcd-servers={{ include "gateway.etcdEndpoints" . }}
- --etcd-cafile=/etc/etcd/tls/ca.crt
- --etcd-certfile=/etc/etcd/tls/tls.crt
- --etcd-keyfile=/etc/etcd/tls/tls.key
{{- end -}}

{{/* The configuration of a member of etcd; $(POD_NAME) is its name */}}
{{- define "gateway.etcdConfig" -}}
{{- $name := include "gateway.etcdName" . -}}
{{- $domain := printf "%s.%s.svc" $name .Release.Namespace -}}
{{- $members := list -}}
{{- range until (int .Values.etcd.replicaCount) -}}
{{- $members = append $members (printf "%s-%d=https://%s-%d.%s:2380" $name . $name . $domain) -}}
{{- end -}}
{{- $files := dict "trusted-ca-file" "/etc/etcd/tls/ca.crt" "cert-file" "/etc/etcd/tls/tls.crt" "key-file" "/etc/etcd/tls/tls.key" "client-cert-auth" true -}}
{{- /* a peer is who has the members' certificate: reverse DNS of pods is not everywhere */ -}}
{{- $peers := merge (dict "allowed-cn" (list $name) "skip-client-san-verification" true) $files -}}
{{- $config := dict
  "name" "$(POD_NAME)"
  "data-dir" "/var/lib/etcd/data"
  "listen-client-urls" "https://0.0.0.0:2379"
  "advertise-client-urls" (printf "https://$(POD_NAME).%s:2379" $domain)
  "listen-peer-urls" "https://0.0.0.0:2380"
  "initial-advertise-peer-urls" (printf "https://$(POD_NAME).%s:2380" $domain)
  "listen-metrics-urls" "http://0.0.0.0:2381"
  "initial-cluster" (join "," $members)
  "initial-cluster-token" $name
  "client-transport-security" $files
  "peer-transport-security" $peers
  "quota-backend-bytes" (int64 .Values.etcd.quotaBackendBytes)
  "snapshot-count" 10000 -}}
{{- $config | toJson -}}
{{- end -}}

{{/* The newest version of TLSRoute that the cluster serves; it left the experimental channel as v1 */}}
{{- define "gateway.tlsRouteVersion" -}}
{{- $found := "" -}}
{{- range list "v1" "v1alpha3" "v1alpha2" -}}
{{- if and (not $found) ($.Capabilities.APIVersions.Has (printf "gateway.networking.k8s.io/%s/TLSRoute" .)) -}}
{{- $found = . -}}
{{- end -}}
{{- end -}}
gateway.networking.k8s.io/{{ default "v1" $found }}
{{- end -}}

{{/* Whether the job makes a token for who scrapes, which gateways read from a file */}}
{{- define "gateway.metricsToken" -}}
{{- if and .Values.monitoring.serviceMonitor.enabled (not .Values.monitoring.serviceMonitor.tokenSecretName) -}}
{{- if hasKey .Values.flags "token-auth-file" -}}
{{- fail "monitoring.serviceMonitor.tokenSecretName: name a Secret with a token of your flags.token-auth-file" -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{/* The configuration files that are given as values, by the names that they have in the pod */}}
{{- define "gateway.configurations" -}}
{{- $files := dict -}}
{{- with .Values.audit.policy }}{{ $_ := set $files "audit-policy.yaml" (toYaml .) }}{{ end -}}
{{- with .Values.authentication.configuration }}{{ $_ := set $files "authentication.yaml" (toYaml .) }}{{ end -}}
{{- with .Values.authorization.configuration }}{{ $_ := set $files "authorization.yaml" (toYaml .) }}{{ end -}}
{{- with .Values.admission.configuration }}{{ $_ := set $files "admission.yaml" (toYaml .) }}{{ end -}}
{{- $files | toJson -}}
{{- end -}}

{{/* The Secret with the EncryptionConfiguration; empty without one */}}
{{- define "gateway.encryptionSecret" -}}
{{- if .Values.encryption.secretName -}}
{{- .Values.encryption.secretName -}}
{{- else if .Values.encryption.configuration -}}
{{- printf "%s-encryption" (include "gateway.fullname" .) -}}
{{- end -}}
{{- end -}}

{{/*
Fails where the bundled etcd was made with another number of members. Its members' Secret says the number, and before that
was so, the StatefulSet. Neither is known to `helm template`: an init container of the members asks again.
*/}}
{{- define "gateway.sameMembers" -}}
{{- $name := include "gateway.etcdName" . -}}
{{- $made := "" -}}
{{- with (lookup "apps/v1" "StatefulSet" .Release.Namespace $name) -}}
{{- range (first .spec.template.spec.containers).command -}}
{{- if hasPrefix "--initial-cluster=" . -}}{{- $made = splitList "," . | len | toString -}}{{- end -}}
{{- end -}}
{{- range .spec.template.spec.initContainers -}}
{{- range .args -}}
{{- if hasPrefix "--config=" . -}}
{{- $made = get (trimPrefix "--config=" . | fromJson) "initial-cluster" | splitList "," | len | toString -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with (lookup "v1" "Secret" .Release.Namespace (printf "%s-member" $name)) -}}
{{- with (get (default dict .data) "members") -}}{{- $made = b64dec . -}}{{- end -}}
{{- end -}}
{{- if and $made (ne $made (int .Values.etcd.replicaCount | toString)) -}}
{{- fail (printf "etcd.replicaCount: %s was made with %s members, and their number cannot be changed; set it to %s. docs/how-to/chart.md says how to move the data into a new release" $name $made $made) -}}
{{- end -}}
{{- end -}}

{{/* The name of a CronJob, of at most 52 characters: (list $ "snapshot") */}}
{{- define "gateway.cronJob" -}}
{{- $what := index . 1 -}}
{{- include "gateway.etcdName" (index . 0) | trunc (int (sub 51 (len $what))) | trimSuffix "-" }}-{{ $what -}}
{{- end -}}
