{{/* The specification of the job that makes Secrets; its hash is in its name, for it cannot be changed */}}
{{- define "gateway.secretsJob" -}}
{{- $name := include "gateway.fullname" . -}}
{{- $secrets := printf "%s-secrets" $name -}}
{{- $etcd := include "gateway.etcdName" . -}}
{{- $bundled := eq .Values.etcd.mode "bundled" -}}
{{- $trusted := "" -}}
{{- if ne .Values.certificates.mode "generated" }}{{- $trusted = include "gateway.tlsSecret" . }}{{- end -}}
backoffLimit: 3
activeDeadlineSeconds: 240
template:
  metadata:
    labels:
      {{- include "gateway.selector" (list . "secrets") | nindent 6 }}
  spec:
    {{- include "gateway.podSecurity" (list . $secrets) | nindent 4 }}
    restartPolicy: Never
    {{- with .Values.nodeSelector }}
    nodeSelector: {{ toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.tolerations }}
    tolerations: {{ toYaml . | nindent 6 }}
    {{- end }}
    containers:
      - name: secrets
        image: {{ include "gateway.image" . }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        args:
          - make-secrets
          - --in-cluster=/var/run/secrets/kubernetes.io/serviceaccount
          - --name={{ $name }}
          - --server={{ include "gateway.server" . }}
          - --days={{ int .Values.certificates.days }}
          {{- if $trusted }}
          - --no-ca
          - --trusted-secret={{ $trusted }}
          {{- if .Values.certificates.signingKeySecretName }}
          - --no-signing-key
          {{- end }}
          {{- end }}
          {{- if include "gateway.metricsToken" . }}
          - --metrics-token
          {{- end }}
          {{- if $bundled }}
          - --etcd={{ $etcd }}
          - --etcd-domain={{ $etcd }}.{{ .Release.Namespace }}.svc
          - --etcd-members={{ int .Values.etcd.replicaCount }}
          {{- end }}
          - --label=app.kubernetes.io/name={{ include "gateway.name" . }}
          - --label=app.kubernetes.io/instance={{ .Release.Name }}
        {{- if .Values.admin.token }}
        env:
          - name: ADMIN_TOKEN
            valueFrom: {secretKeyRef: {name: {{ $secrets }}, key: admin-token}}
        {{- end }}
        resources:
          requests: {cpu: 50m, memory: 64Mi}
          limits: {memory: 256Mi}
        securityContext: {{ include "gateway.containerSecurity" . | nindent 10 }}
        volumeMounts:
          - {name: account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
          - {name: tmp, mountPath: /tmp}
    volumes:
      - {name: tmp, emptyDir: {sizeLimit: 16Mi}}
      # as every pod with a token has it, but for a token that ends with the job
      - name: account
        projected:
          defaultMode: 0440
          sources:
            - serviceAccountToken: {path: token, expirationSeconds: 600}
            - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
            - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
{{- end -}}
