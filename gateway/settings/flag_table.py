"""The table of the flags of `apiserver-gateway serve`, in the groups in which kube-apiserver has those that it has."""

from __future__ import annotations

from pathlib import Path

from gateway.settings.config import AUDIT_MODES, AUDIT_VERSION, AUTHORIZATION_MODES, FEATURE_GATES, REVIEW_VERSIONS
from gateway.settings.flag import Flag
from gateway.settings.flag_values import (
    SIGNING_ALGORITHMS,
    address,
    algorithms,
    boolean,
    count,
    decimal,
    endpoints,
    gates,
    host,
    hosts,
    issuer,
    name_set,
    names,
    network,
    number,
    pairs,
    paths,
    port,
    ports,
    seconds,
    server,
    size,
    token,
)
from gateway.settings.operating_flags import OPERATING
from gateway.settings.plugin_names import PLUGIN_NAMES

_GROUPS: tuple[tuple[str, tuple[Flag, ...]], ...] = (
    (
        "Generic",
        (
            Flag("advertise-address", host, "address or host name under which others reach this server", "HOST"),
            Flag("workers", count, "number of server processes on the port", "N"),
            Flag(
                "max-requests-inflight",
                number,
                "reads under way at once; with priority and fairness, a part of all",
                "N",
            ),
            Flag("max-mutating-requests-inflight", number, "writes under way at once, likewise; 0 of either: any", "N"),
            Flag("max-watches-per-user", number, "watches that one user may have open with a process; 0 is any", "N"),
            Flag("max-connections-per-address", int, "connections that one address may have with a process", "N"),
            Flag("header-timeout", seconds, "time for the TLS handshake, and for a request's headers", "DURATION"),
            Flag("min-body-rate", int, "bytes a second that a request's body has to come at; 0 is any", "BYTES"),
            Flag(
                "feature-gates",
                gates,
                "features to switch on or off, as Name=true: CBORServingAndStorage",
                "NAMES",
                choices=tuple(f"{gate}=true" for gate in sorted(FEATURE_GATES)),
            ),
        ),
    ),
    (
        "Etcd",
        (
            Flag("etcd-servers", endpoints, "etcd endpoints, separated by commas", "URLS"),
            Flag("etcd-prefix", str, "what all keys in etcd start with", "PREFIX"),
            Flag(
                "encryption-provider-config",
                Path,
                "an EncryptionConfiguration: which resources are encrypted in etcd, and how",
                "FILE",
            ),
            Flag(
                "encryption-provider-config-automatic-reload",
                boolean,
                "whether --encryption-provider-config is read anew when it changes",
                "BOOL",
            ),
            Flag("etcd-cafile", Path, "CA of etcd's certificates, PEM", "FILE"),
            Flag("etcd-certfile", Path, "client certificate for etcd, PEM", "FILE"),
            Flag("etcd-keyfile", Path, "the client certificate's key, PEM", "FILE"),
            Flag("etcd-username", str, "user for etcd, where it has authentication on", "NAME"),
            Flag("etcd-password", str, "the etcd user's password; better given as environment variable", "PASSWORD"),
            Flag("etcd-compaction-interval", seconds, "time between compactions of etcd; 0 never compacts", "DURATION"),
            Flag("etcd-compaction-retention", seconds, "how long etcd keeps old revisions", "DURATION"),
            Flag(
                "consistency-check-interval",
                seconds,
                "time between comparisons of cache and etcd; 0: never",
                "DURATION",
            ),
            Flag(
                "delete-collection-workers", count, "deletions at the same time when a big collection is deleted", "N"
            ),
            Flag(
                "enable-garbage-collector",
                boolean,
                "whether deletions leave dependents to a garbage collector, this server's or kube-controller-manager's",
                "BOOL",
            ),
            Flag("embedded-etcd", boolean, "run an etcd of its own, for development and tests", "BOOL"),
            Flag("data-dir", Path, "where the embedded etcd keeps its data; temporary if not given", "DIR"),
        ),
    ),
    (
        "Secure serving",
        (
            Flag("bind-address", address, "address to listen on", "ADDRESS"),
            Flag("secure-port", port, "port to serve HTTPS on; 0 takes a free one", "PORT"),
            Flag("cert-dir", Path, "where generated certificates, keys and the administrator's token are kept", "DIR"),
            Flag("tls-cert-file", Path, "the server's certificate, PEM, instead of a generated one", "FILE"),
            Flag("tls-private-key-file", Path, "the certificate's key, PEM", "FILE"),
            Flag("tls-san", hosts, "more host names and addresses for the generated certificate", "HOSTS"),
            Flag(
                "identity-key-file",
                Path,
                "a secret that replicas share: CA, keys and administrator's token are then in etcd, sealed with it",
                "FILE",
            ),
        ),
    ),
    (
        "Auditing",
        (
            Flag("audit-policy-file", Path, "which requests are recorded, and how much of them", "FILE"),
            Flag("audit-log-path", str, "file that events are written to; - is standard output", "FILE"),
            Flag("audit-log-format", str, "json or legacy", "FORMAT", choices=("json", "legacy")),
            Flag(
                "audit-log-mode",
                str,
                "what requests wait for: batch, blocking, blocking-strict",
                "MODE",
                choices=AUDIT_MODES,
            ),
            Flag("audit-log-version", str, "of the events' API", "VERSION", choices=(AUDIT_VERSION,)),
            Flag("audit-log-batch-buffer-size", number, "events that may wait to be written", "N"),
            Flag("audit-log-batch-max-size", number, "events that are written together", "N"),
            Flag("audit-log-batch-max-wait", seconds, "how long they wait for others", "DURATION"),
            Flag("audit-log-batch-throttle-enable", boolean, "limit the batches that are written in a second", "BOOL"),
            Flag("audit-log-batch-throttle-qps", decimal, "how many in a second", "N"),
            Flag("audit-log-batch-throttle-burst", number, "how many at once after a while without any", "N"),
            Flag("audit-log-truncate-enabled", boolean, "write large events without their objects", "BOOL"),
            Flag("audit-log-truncate-max-event-size", size, "bytes of an event that is written whole", "BYTES"),
            Flag("audit-log-truncate-max-batch-size", size, "bytes of events that are written together", "BYTES"),
            Flag("audit-log-maxsize", number, "MiB from which the file is put aside; 0: never", "MIB"),
            Flag("audit-log-maxbackup", number, "such files that stay; 0: all", "N"),
            Flag("audit-log-maxage", number, "days that they stay; 0: for ever", "DAYS"),
            Flag("audit-log-compress", boolean, "pack them", "BOOL"),
            Flag("audit-webhook-config-file", Path, "kubeconfig of a service that events are sent to", "FILE"),
            Flag("audit-webhook-mode", str, "as --audit-log-mode", "MODE", choices=AUDIT_MODES),
            Flag("audit-webhook-version", str, "of the events' API", "VERSION", choices=(AUDIT_VERSION,)),
            Flag("audit-webhook-initial-backoff", seconds, "time until a failed call is tried again", "DURATION"),
            Flag("audit-webhook-batch-buffer-size", number, "events that may wait to be sent", "N"),
            Flag("audit-webhook-batch-max-size", number, "events that are sent together", "N"),
            Flag("audit-webhook-batch-max-wait", seconds, "how long they wait for others", "DURATION"),
            Flag("audit-webhook-batch-throttle-enable", boolean, "limit the batches that are sent in a second", "BOOL"),
            Flag("audit-webhook-batch-throttle-qps", decimal, "how many in a second", "N"),
            Flag("audit-webhook-batch-throttle-burst", number, "how many at once after a while without any", "N"),
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
    (
        "Authentication",
        (
            Flag("anonymous-auth", boolean, "let requests without credentials in as system:anonymous", "BOOL"),
            Flag("api-audiences", names, "audiences of tokens for this server; the issuers if not given", "NAMES"),
            Flag("authentication-config", Path, "issuers of tokens, and who may be anonymous where", "FILE"),
            Flag("authentication-token-webhook-config-file", Path, "kubeconfig of a service that knows tokens", "FILE"),
            Flag(
                "authentication-token-webhook-version",
                str,
                "version of the TokenReviews that it is sent",
                "VERSION",
                choices=REVIEW_VERSIONS,
            ),
            Flag("authentication-token-webhook-cache-ttl", seconds, "how long its answers are remembered", "DURATION"),
            Flag("admin-token", token, "bearer token of an administrator; made up where one is needed", "TOKEN"),
            Flag("client-ca-file", Path, "CAs of client certificates, PEM: CN is the user, O the groups", "FILE"),
            Flag("enable-bootstrap-token-auth", boolean, "let bootstrap tokens of kube-system in", "BOOL"),
            Flag("oidc-issuer-url", issuer, "issuer of OpenID Connect tokens, https only", "URL"),
            Flag("oidc-client-id", str, "the audience that its tokens have to be for", "ID"),
            Flag("oidc-ca-file", Path, "CAs of the issuer's certificate, PEM; the host's if not given", "FILE"),
            Flag("oidc-username-claim", str, "claim with the user's name", "CLAIM"),
            Flag(
                "oidc-username-prefix",
                str,
                "what goes before names; - is nothing, and without it the issuer's URL does",
            ),
            Flag("oidc-groups-claim", str, "claim with the user's groups", "CLAIM"),
            Flag("oidc-groups-prefix", str, "what goes before groups"),
            Flag("oidc-required-claim", pairs, "claims that tokens must have: claim=value", "CLAIMS"),
            Flag(
                "oidc-signing-algs",
                algorithms,
                "algorithms that tokens may be signed with",
                "NAMES",
                choices=SIGNING_ALGORITHMS,
            ),
            Flag("requestheader-client-ca-file", Path, "CAs of the certificates of front proxies, PEM", "FILE"),
            Flag("requestheader-username-headers", names, "headers in which a front proxy names the user", "NAMES"),
            Flag("requestheader-uid-headers", names, "headers with the user's uid", "NAMES"),
            Flag("requestheader-group-headers", names, "headers with the user's groups", "NAMES"),
            Flag(
                "requestheader-extra-headers-prefix", names, "what headers with the user's extra start with", "PREFIXES"
            ),
            Flag(
                "requestheader-allowed-names",
                names,
                "common names that front proxies may have; any if not given",
                "NAMES",
            ),
            Flag(
                "service-account-issuer", names, "issuers of service account tokens; the first one's are made", "URLS"
            ),
            Flag("service-account-key-file", paths, "keys that verify service account tokens, PEM", "FILES"),
            Flag("service-account-lookup", boolean, "legacy tokens are void without their secret", "BOOL"),
            Flag(
                "service-account-extend-token-expiration",
                boolean,
                "tokens that pods get live longer than they say",
                "BOOL",
            ),
            Flag(
                "service-account-max-token-expiration",
                seconds,
                "longest life of a requested token; 0 is any",
                "DURATION",
            ),
            Flag("service-account-jwks-uri", str, "where the issuer's document says its keys are", "URL"),
            Flag("token-auth-file", Path, 'CSV of bearer tokens: token,user,uid,"group1,group2"', "FILE"),
        ),
    ),
    (
        "Authorization",
        (
            Flag(
                "authorization-mode",
                names,
                "who decides, in order: RBAC, Node, Webhook, AlwaysAllow, AlwaysDeny (default RBAC)",
                "MODES",
                choices=AUTHORIZATION_MODES,
            ),
            Flag("authorization-config", Path, "who decides, and under which conditions", "FILE"),
            Flag(
                "authorization-webhook-config-file",
                Path,
                "kubeconfig of the service that the mode Webhook asks",
                "FILE",
            ),
            Flag(
                "authorization-webhook-version",
                str,
                "version of the SubjectAccessReviews that it is sent",
                "VERSION",
                choices=REVIEW_VERSIONS,
            ),
            Flag("authorization-webhook-cache-authorized-ttl", seconds, "how long its yes is remembered", "DURATION"),
            Flag("authorization-webhook-cache-unauthorized-ttl", seconds, "how long its no is remembered", "DURATION"),
        ),
    ),
    (
        "Other servers",
        (
            Flag("proxy-client-cert-file", Path, "certificate that extension servers know their proxy by, PEM", "FILE"),
            Flag("proxy-client-key-file", Path, "its key, PEM", "FILE"),
            Flag(
                "enable-aggregator-routing",
                boolean,
                "call endpoints of extension servers' services, not cluster IPs",
                "BOOL",
            ),
            Flag("kubelet-certificate-authority", Path, "CAs of kubelets' certificates, PEM; any if not given", "FILE"),
            Flag("kubelet-client-certificate", Path, "certificate shown to kubelets, PEM", "FILE"),
            Flag("kubelet-client-key", Path, "its key, PEM", "FILE"),
            Flag("kubelet-port", port, "port of kubelets whose node names none", "PORT"),
            Flag(
                "kubelet-preferred-address-types",
                names,
                "types of node addresses at which kubelets are called, the preferred first",
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
                choices=tuple(sorted(PLUGIN_NAMES)),
            ),
            Flag(
                "disable-admission-plugins",
                name_set,
                "admission plug-ins to switch off",
                "NAMES",
                choices=tuple(sorted(PLUGIN_NAMES)),
            ),
            Flag(
                "admission-control-config-file",
                Path,
                "an AdmissionConfiguration with the configurations of plug-ins, or where these are",
                "FILE",
            ),
        ),
    ),
    (
        "Controllers",
        (
            Flag(
                "controllers",
                names,
                "controllers to run: '*' those that are on by default, 'name' one more, '-name' not this one; names "
                "are those of kube-controller-manager",
                "NAMES",
            ),
            Flag(
                "cluster-signing-cert-file",
                Path,
                "CA that signs approved requests; the server's own if not given",
                "FILE",
            ),
            Flag("cluster-signing-key-file", Path, "its key, PEM", "FILE"),
            Flag("cluster-signing-duration", seconds, "longest life of what it signs", "DURATION"),
        ),
    ),
    (
        "Misc",
        (
            Flag("allow-privileged", boolean, "whether pods may have privileged containers", "BOOL"),
            Flag(
                "event-ttl",
                seconds,
                "how long events stay after their last write; 0: until they are deleted",
                "DURATION",
            ),
            Flag(
                "service-account-signing-key-file", Path, "private key that signs service account tokens, PEM", "FILE"
            ),
            Flag("service-cluster-ip-range", network, "range that services' cluster IPs are taken from", "CIDR"),
            Flag("service-node-port-range", ports, "range that services' node ports are taken from", "LOW-HIGH"),
            Flag("kubeconfig-out", Path, "write a kubeconfig with an admin's token here", "FILE"),
            Flag("kubeconfig-server", server, "the server's URL in that kubeconfig", "URL"),
            Flag(
                "testing-api", boolean, "serve /testing, which throw-away servers have: snapshots and a clock", "BOOL"
            ),
        ),
    ),
)

GROUPS = (*_GROUPS, *OPERATING)
FLAGS = tuple(flag for _, flags in GROUPS for flag in flags)
