"""The one table of lazily imported parts: what is imported when it is first needed, so that a server starts sooner.

A part is listed if a start without it is at least 0.15 ms of CPU shorter: `python -m tests.benchmarks.imports --later`
measures each. What saves less is imported at the top.

test_structure.py holds each import inside a function against it; test_start.py holds it against what a start imports.
"""

from __future__ import annotations

# when it is needed -> the modules; a package stands for all modules in it
PARTS = {
    "with the first definition of custom resources": (
        "gateway.customresources.conversion",
        "gateway.customresources.definition",
        "gateway.customresources.names",
        "gateway.customresources.serving",
        "gateway.kinds.columns.custom",
        "gateway.kinds.conversions",
    ),
    "with the first expression": ("gateway.access.expressions", "gateway.admission.expressions", "gateway.cel", "re2"),
    "with the first policy or webhook": (
        "gateway.admission.policies.mutating",
        "gateway.admission.policies.mutation",
        "gateway.admission.policies.validating",
        "gateway.admission.policies.validation",
        "gateway.admission.webhooks.mutating",
        "gateway.admission.webhooks.validating",
        "gateway.controllers.policy_types",
    ),
    "with the first object that a plug-in looks at": (
        "gateway.admission.limits",
        "gateway.admission.plugins.node_writes",
        "gateway.admission.podsecurity",
        "gateway.validation.key_pairs",
        "gateway.validation.projected_certificates",
        "gateway.validation.urls",
    ),
    "where a flag, a minor or a configuration file asks for it": (
        "gateway.access.authorization_conditions",
        "gateway.access.authorization_configuration",
        "gateway.access.authorization_webhook",
        "gateway.access.device_rights",
        "gateway.access.issuers",
        "gateway.access.nodes.authorizer",
        "gateway.access.nodes.graph",
        "gateway.access.remote",
        "gateway.access.token_webhook",
        "gateway.audit.audit",
        "gateway.audit.policy",
        "gateway.audit.rotation",
        "gateway.audit.webhook",
        "gateway.credentials.identity",
        "gateway.encryption",
        "gateway.kinds.enablement",
        "gateway.kinds.uid_fields",
        "gateway.launch.control_planes",
        "gateway.launch.shared_identity",
        "gateway.kinds.declared_rules",
        "gateway.kinds.strategies.pod_level_resources",
        "gateway.requests.spans",
        "gateway.settings.control_planes",
        "storage.common",
        "gateway.settings.flag_values",
        "gateway.tracing.configuration",
        "gateway.tracing.tracer",
        "gateway.trials",
        "gateway.validation.declared_rules",
        "nacl",
    ),
    "where keys and certificates are made or read": (
        "cryptography",
        "gateway.access.certificate_chains",
        "gateway.certificate_reader",
    ),
    "with the first token that is a JWT": ("jwt",),
    "with the first extension server": (
        "gateway.aggregation.reflection",
        "gateway.openapi.merge",
        "gateway.openapi.version3_of_2",
    ),
    "with the first request of its kind": (
        "gateway.selectors.shard_selector",
        "gateway.allocation.services",
        "gateway.quotas.room",
        "gateway.apply.emptied",
        "gateway.defaults.old_versions",
        "gateway.encodings.cbor",
        "gateway.encodings.cbor_encoder",
        "gateway.encodings.partial_encoder",
        "gateway.encodings.reformatted_encoder",
        "gateway.encodings.table",
        "gateway.encodings.table_encoder",
        "gateway.forwarding.sniffing",
        "gateway.http.packed_pieces",
        "gateway.openapi.version2",
        "gateway.operations.framework",
        "gateway.operations.openapi",
        "gateway.operations.routes",
        "gateway.outbound.secured_transport",
        "gateway.outbound.sockets",
        "gateway.patches.json_patch",
        "gateway.patches.merge_patch",
        "gateway.patches.outcome",
        "gateway.patches.spelling",
        "gateway.patches.strategic_merge_patch",
        "gateway.reading.watch_body",
        "gateway.requests.start_stages",
        "pydantic",
        "yaml",
    ),
    "with the first body that is not plain JSON of its type": (
        "gateway.schema.go_json",
        "gateway.schema.problems",
        "gateway.schema.yaml_body",
    ),
    "once requests are answered": (
        "gateway.allocation.repair",
        "gateway.controllers.controller",
        "gateway.controllers.election",
        "gateway.controllers.flow_schema_status",
        "gateway.controllers.identity",
        "gateway.controllers.legacy_tokens",
        "gateway.controllers.observer",
        "gateway.controllers.replicas",
        "gateway.credentials.validity",
        "gateway.observability.watchdog",
        "storage.compaction",
    ),
    "where etcd has several members": ("storage.etcd.overdue",),
    "after an outage of etcd": ("storage.etcd.doubtful",),
    "where etcd has something": (
        "storage.fill",
        "storage.reread",
    ),
    "where etcd is started too": ("storage.embedded",),
}

LATER = frozenset(part for parts in PARTS.values() for part in parts)

# What begins a process. Its functions import what they need, also what a server needs from its start on.
BEGINNINGS = (
    "apiserver_gateway",
    "gateway.commands",
    "gateway.launch.feeder_socket",
    "gateway.launch.identity",
    "gateway.launch.launch",
    "gateway.launch.preflight",
    "gateway.launch.template",
    "gateway.observability.logs",
    "gateway.settings",
)


def within(module: str, parts: frozenset[str] | tuple[str, ...]) -> bool:
    """Whether a module is one of some parts, or in one of them."""
    names = module.split(".")
    return any(".".join(names[:length]) in parts for length in range(1, len(names) + 1))
