"""The table of all flags of `apiserver-gateway serve`. Flags that kube-apiserver has too are in its groups."""

from __future__ import annotations

from pathlib import Path

from gateway.release.minors import GIT_VERSIONS
from gateway.settings.admission_plugins import PLUGINS
from gateway.settings.authentication_flags import AUTHENTICATION
from gateway.settings.browser_values import origins, transport_security
from gateway.settings.config import AUDIT_MODES, AUDIT_VERSION, AUTHORIZATION_MODES, REVIEW_VERSIONS
from gateway.settings.etcd_overrides import etcd_overrides
from gateway.settings.flag import Flag
from gateway.settings.flag_values import (
    address,
    boolean,
    count,
    decimal,
    emulated_version,
    endpoints,
    gates,
    host,
    hosts,
    key_prefix,
    kubernetes_version,
    name_set,
    names,
    network,
    number,
    port,
    ports,
    seconds,
    server,
    size,
)
from gateway.settings.named_pairs import named_pairs
from gateway.settings.operating_flags import OPERATING
from gateway.settings.runtime_config import overrides

_GROUPS: tuple[tuple[str, tuple[Flag, ...]], ...] = (
    (
        "Generic",
        (
            Flag("advertise-address", host, "address or host name under which others reach this server", "HOST"),
            Flag(
                "external-hostname",
                host,
                "host name of this server for clients outside the cluster, in URLs that the server returns",
                "HOST",
            ),
            Flag("workers", count, "number of server processes on the port", "N"),
            Flag(
                "shared-cache",
                boolean,
                "with --workers: one process reads etcd for all workers, and they share its memory",
                "BOOL",
            ),
            Flag(
                "max-requests-inflight",
                number,
                "maximum concurrent reads; 0: no limit. With priority and fairness, the sum of both flags is the seats",
                "N",
            ),
            Flag("max-mutating-requests-inflight", number, "maximum concurrent writes; 0: no limit", "N"),
            Flag("max-watches-per-user", number, "maximum watches of one user on one process; 0: no limit", "N"),
            Flag("max-connections-per-address", int, "maximum connections of one address to one process", "N"),
            Flag("request-timeout", seconds, "time limit of a request that is not long-running", "DURATION"),
            Flag(
                "min-request-timeout",
                number,
                "minimum seconds of a watch without timeoutSeconds; the maximum is twice this",
                "SECONDS",
            ),
            Flag("header-timeout", seconds, "time limit of the TLS handshake, and of a request's headers", "DURATION"),
            Flag(
                "cors-allowed-origins",
                origins,
                "origins whose web pages may call this server from browsers: regular expressions such as ^https://ui\\.example$",
                "PATTERNS",
            ),
            Flag(
                "strict-transport-security-directives",
                transport_security,
                "Strict-Transport-Security header for browsers: max-age=31536000,includeSubDomains,preload",
                "DIRECTIVES",
            ),
            Flag("min-body-rate", int, "minimum rate of a request's body, bytes a second; 0: no limit", "BYTES"),
            Flag(
                *("kubernetes-version", kubernetes_version),
                "the minor of Kubernetes that is served: its version, APIs, feature gates and rules",
                "MINOR",
                choices=tuple(GIT_VERSIONS),
            ),
            Flag("emulated-version", emulated_version, "an earlier minor, whose APIs and gates are served", "MINOR"),
            Flag("min-compatibility-version", emulated_version, "the earliest minor of replicas beside it", "MINOR"),
            Flag(
                "feature-gates",
                gates,
                "features to switch on or off, as Name=true,AllAlpha=false; CBORServingAndStorage is off by default",
                "NAME=BOOL",
                choices=("CBORServingAndStorage=true",),
            ),
            Flag(
                "runtime-config",
                overrides,
                "built-in APIs to switch on or off: api/all=true, apps/v1=false, batch/v1/cronjobs=false",
                "API=BOOL",
                choices=("api/all=true",),
            ),
        ),
    ),
    (
        "Etcd",
        (
            Flag("etcd-servers", endpoints, "etcd endpoints, separated by commas", "URLS"),
            Flag(
                "etcd-servers-overrides",
                etcd_overrides,
                "built-in resources that are stored in another etcd, such as /events#http://etcd-4:2379;http://etcd-5:2379",
                "GROUP/RESOURCE#URLS",
            ),
            Flag("etcd-prefix", key_prefix, "prefix of all keys in etcd", "PREFIX"),
            Flag(
                "encryption-provider-config",
                Path,
                "an EncryptionConfiguration: which resources are encrypted in etcd, and how",
                "FILE",
            ),
            Flag(
                "encryption-provider-config-automatic-reload",
                boolean,
                "whether --encryption-provider-config is read again when it changes",
                "BOOL",
            ),
            Flag("etcd-cafile", Path, "CA of etcd's certificates, PEM", "FILE"),
            Flag("etcd-certfile", Path, "client certificate for etcd, PEM", "FILE"),
            Flag("etcd-keyfile", Path, "the client certificate's key, PEM", "FILE"),
            Flag("etcd-username", str, "user for etcd, if etcd has authentication enabled", "NAME"),
            Flag("etcd-password", str, "the etcd user's password; safer as the environment variable", "PASSWORD"),
            Flag("etcd-compaction-interval", seconds, "time between compactions of etcd; 0 never compacts", "DURATION"),
            Flag("etcd-compaction-retention", seconds, "how long etcd keeps old revisions", "DURATION"),
            Flag(
                "consistency-check-interval",
                seconds,
                "time between comparisons of cache and etcd; 0: never",
                "DURATION",
            ),
            Flag("delete-collection-workers", count, "concurrent deletions when a large collection is deleted", "N"),
            Flag(
                "enable-garbage-collector",
                boolean,
                "whether a garbage collector runs, here or in kube-controller-manager, and deletes dependents",
                "BOOL",
            ),
            Flag("embedded-etcd", boolean, "start an etcd together with the server, for development and tests", "BOOL"),
            Flag("data-dir", Path, "data directory of the embedded etcd (default: a temporary directory)", "DIR"),
        ),
    ),
    (
        "Secure serving",
        (
            Flag("bind-address", address, "address to listen on; 0.0.0.0 or :: for all IPv4 and IPv6", "ADDRESS"),
            Flag("secure-port", port, "port to serve HTTPS on; 0 takes a free one", "PORT"),
            Flag("cert-dir", Path, "where generated certificates, keys and the administrator's token are kept", "DIR"),
            Flag("tls-cert-file", Path, "the server's certificate, PEM, instead of a generated one", "FILE"),
            Flag("tls-private-key-file", Path, "the certificate's key, PEM", "FILE"),
            Flag("tls-san", hosts, "more host names and addresses for the generated certificate", "HOSTS"),
            Flag(
                "tls-sni-cert-key",
                named_pairs,
                "another certificate and key, for clients that use its names, or the names after the colon: "
                "cert.pem,key.pem:*.example.org; can be repeated",
                "FILES",
            ),
            Flag("permit-port-sharing", boolean, "let other servers listen on the same port (SO_REUSEPORT)", "BOOL"),
            Flag(
                "identity-key-file",
                Path,
                "a secret that replicas share; it encrypts the CA, keys and administrator's token in etcd",
                "FILE",
            ),
        ),
    ),
    (
        "Auditing",
        (
            Flag(
                "audit-policy-file", Path, "an audit Policy: which requests are recorded, and how much of them", "FILE"
            ),
            Flag("audit-log-path", str, "file for audit events; - is standard output", "FILE"),
            Flag("audit-log-format", str, "json or legacy", "FORMAT", choices=("json", "legacy")),
            Flag(
                "audit-log-mode",
                str,
                "whether requests wait for their events: batch, blocking, blocking-strict",
                "MODE",
                choices=AUDIT_MODES,
            ),
            Flag("audit-log-version", str, "of the events' API", "VERSION", choices=(AUDIT_VERSION,)),
            Flag("audit-log-batch-buffer-size", number, "events that may wait to be written", "N"),
            Flag("audit-log-batch-max-size", number, "events that are written together", "N"),
            Flag("audit-log-batch-max-wait", seconds, "how long they wait for others", "DURATION"),
            Flag("audit-log-batch-throttle-enable", boolean, "limit the batches that are written in a second", "BOOL"),
            Flag("audit-log-batch-throttle-qps", decimal, "how many in a second", "N"),
            Flag("audit-log-batch-throttle-burst", number, "batches that may be sent at once after a pause", "N"),
            Flag("audit-log-truncate-enabled", boolean, "write large events without their objects", "BOOL"),
            Flag("audit-log-truncate-max-event-size", size, "bytes of an event that is written whole", "BYTES"),
            Flag("audit-log-truncate-max-batch-size", size, "bytes of events that are written together", "BYTES"),
            Flag("audit-log-maxsize", number, "size in MiB at which the file is rotated; 0: never", "MIB"),
            Flag("audit-log-maxbackup", number, "rotated files that are kept; 0: all", "N"),
            Flag("audit-log-maxage", number, "days that rotated files are kept; 0: for ever", "DAYS"),
            Flag("audit-log-compress", boolean, "pack them", "BOOL"),
            Flag("audit-webhook-config-file", Path, "kubeconfig of a service that events are sent to", "FILE"),
            Flag("audit-webhook-mode", str, "as --audit-log-mode", "MODE", choices=AUDIT_MODES),
            Flag("audit-webhook-version", str, "of the events' API", "VERSION", choices=(AUDIT_VERSION,)),
            Flag("audit-webhook-initial-backoff", seconds, "time until a failed call is repeated", "DURATION"),
            Flag("audit-webhook-batch-buffer-size", number, "events that may wait to be sent", "N"),
            Flag("audit-webhook-batch-max-size", number, "events that are sent together", "N"),
            Flag("audit-webhook-batch-max-wait", seconds, "how long they wait for others", "DURATION"),
            Flag("audit-webhook-batch-throttle-enable", boolean, "limit the batches that are sent in a second", "BOOL"),
            Flag("audit-webhook-batch-throttle-qps", decimal, "how many in a second", "N"),
            Flag("audit-webhook-batch-throttle-burst", number, "batches that may be sent at once after a pause", "N"),
            Flag("audit-webhook-truncate-enabled", boolean, "send large events without their objects", "BOOL"),
            Flag("audit-webhook-truncate-max-event-size", size, "bytes of an event that is sent whole", "BYTES"),
            Flag("audit-webhook-truncate-max-batch-size", size, "bytes of events that are sent together", "BYTES"),
        ),
    ),
    (
        "Features",
        (
            Flag(
                "enable-priority-and-fairness",
                boolean,
                "queue and refuse requests by FlowSchemas and PriorityLevelConfigurations",
                "BOOL",
            ),
        ),
    ),
    AUTHENTICATION,
    (
        "Authorization",
        (
            Flag(
                "authorization-mode",
                names,
                "authorizers in order: RBAC, Node, Webhook, AlwaysAllow, AlwaysDeny (default RBAC)",
                "MODES",
                choices=AUTHORIZATION_MODES,
            ),
            Flag(
                "authorization-config",
                Path,
                "an AuthorizationConfiguration: authorizers in order, and their conditions",
                "FILE",
            ),
            Flag(
                "authorization-webhook-config-file",
                Path,
                "kubeconfig of the service that the authorizer Webhook calls",
                "FILE",
            ),
            Flag(
                "authorization-webhook-version",
                str,
                "version of the SubjectAccessReviews that are sent to the service",
                "VERSION",
                choices=REVIEW_VERSIONS,
            ),
            Flag(
                "authorization-webhook-cache-authorized-ttl",
                seconds,
                "how long the service's allowed decisions are cached",
                "DURATION",
            ),
            Flag(
                "authorization-webhook-cache-unauthorized-ttl",
                seconds,
                "how long the service's denied decisions are cached",
                "DURATION",
            ),
        ),
    ),
    (
        "Other servers",
        (
            Flag("proxy-client-cert-file", Path, "client certificate for calls to extension API servers, PEM", "FILE"),
            Flag("proxy-client-key-file", Path, "its key, PEM", "FILE"),
            Flag(
                "enable-aggregator-routing",
                boolean,
                "call endpoints of extension API servers, instead of cluster IPs",
                "BOOL",
            ),
            Flag("kubelet-certificate-authority", Path, "CAs of kubelets' certificates, PEM (default: any)", "FILE"),
            Flag("kubelet-client-certificate", Path, "client certificate for calls to kubelets, PEM", "FILE"),
            Flag("kubelet-client-key", Path, "its key, PEM", "FILE"),
            Flag("kubelet-port", port, "port of a kubelet if its node has none in its status", "PORT"),
            Flag(
                "kubelet-preferred-address-types",
                names,
                "types of node addresses for calls to kubelets, the preferred first",
                "TYPES",
            ),
        ),
    ),
    (
        "Admission",
        (
            Flag(
                "enable-admission-plugins",
                name_set,
                "admission plug-ins to switch on",
                "NAMES",
                choices=tuple(sorted(PLUGINS)),
            ),
            Flag(
                "disable-admission-plugins",
                name_set,
                "admission plug-ins to switch off",
                "NAMES",
                choices=tuple(sorted(PLUGINS)),
            ),
            Flag(
                "admission-control-config-file",
                Path,
                "an AdmissionConfiguration: the configurations of admission plug-ins, or paths to them",
                "FILE",
            ),
            Flag(
                "default-not-ready-toleration-seconds",
                number,
                "how long pods stay on a node that is not ready, if they have no toleration for it",
                "SECONDS",
            ),
            Flag(
                "default-unreachable-toleration-seconds",
                number,
                "how long pods stay on a node that is unreachable, if they have no toleration for it",
                "SECONDS",
            ),
        ),
    ),
    (
        "Controllers",
        (
            Flag(
                "controllers",
                names,
                "controllers to run: '*' for those on by default, 'name' to add one, '-name' to leave one out; the "
                "names are kube-controller-manager's",
                "NAMES",
            ),
            Flag(
                "cluster-signing-cert-file",
                Path,
                "CA that signs approved CertificateSigningRequests, PEM (default: the server's own CA)",
                "FILE",
            ),
            Flag("cluster-signing-key-file", Path, "its key, PEM", "FILE"),
            Flag("cluster-signing-duration", seconds, "longest validity of signed certificates", "DURATION"),
        ),
    ),
    (
        "Misc",
        (
            Flag("allow-privileged", boolean, "whether pods may have privileged containers", "BOOL"),
            Flag(
                "event-ttl",
                seconds,
                "how long Events are kept after their last write; 0: until they are deleted",
                "DURATION",
            ),
            Flag(
                "service-account-signing-key-file", Path, "private key that signs service account tokens, PEM", "FILE"
            ),
            Flag("service-cluster-ip-range", network, "range of services' cluster IPs", "CIDR"),
            Flag("service-node-port-range", ports, "range of services' node ports", "LOW-HIGH"),
            Flag("kubeconfig-out", Path, "file for a kubeconfig with the administrator's token", "FILE"),
            Flag("kubeconfig-server", server, "the server's URL in that kubeconfig", "URL"),
            Flag(
                "testing-api",
                boolean,
                "serve /testing, an API for tests: snapshots, a clock, faults, a recorder",
                "BOOL",
            ),
            Flag(
                "recorder",
                boolean,
                "record requests and changes in memory (64 MiB), and show them at /debug/recorder; for development",
                "BOOL",
            ),
        ),
    ),
)

GROUPS = (*_GROUPS, *OPERATING)
FLAGS = tuple(flag for _, flags in GROUPS for flag in flags)
