"""The one table of lazily imported parts: what is imported when it is first needed, so that a server starts sooner.

test_structure.py holds each import inside a function against it; test_start.py holds it against what a start imports.
"""

from __future__ import annotations

# when it is needed -> the modules; a package stands for all modules in it
PARTS = {
    "with the first definition of custom resources": (
        "gateway.customresources",
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
        "gateway.access.signer_rights",
        "gateway.access.token_webhook",
        "gateway.audit.auditing",
        "gateway.audit.policy",
        "gateway.audit.rotation",
        "gateway.audit.webhook",
        "gateway.credentials.identity",
        "gateway.credentials.named_certificates",
        "gateway.encryption",
        "gateway.http.cors",
        "gateway.kinds.enablement",
        "gateway.launch.hanging",
        "gateway.launch.placing",
        "gateway.launch.preflight",
        "gateway.launch.shared_identity",
        "gateway.kinds.declared_rules",
        "gateway.kinds.strategies.pod_level_resources",
        "gateway.release.lifecycle",
        "gateway.requests.tracing",
        "gateway.settings.flag_values",
        "gateway.tracing.configuration",
        "gateway.tracing.tracer",
        "gateway.trials",
        "gateway.validation.declared",
        "nacl",
    ),
    "where keys and certificates are made or read": (
        "cryptography",
        "gateway.access.certificate_chains",
        "gateway.certificate_reader",
    ),
    "with the first token that is a JWT": ("jwt",),
    "with the first extension server": (
        "gateway.aggregation.duty",
        "gateway.aggregation.held",
        "gateway.aggregation.reflection",
        "gateway.aggregation.resource_lists",
        "gateway.openapi.merging",
        "gateway.openapi.version3_of_2",
    ),
    "with the first request of its kind": (
        "gateway.allocation.services",
        "gateway.apply.repeated",
        "gateway.encodings.cbor",
        "gateway.encodings.cbor_encoder",
        "gateway.encodings.partial_encoder",
        "gateway.encodings.protobuf_encoder",
        "gateway.encodings.reformatted_encoder",
        "gateway.encodings.table",
        "gateway.encodings.table_encoder",
        "gateway.forwarding.sniffing",
        "gateway.http.packed_pieces",
        "gateway.kinds.columns.registry",
        "gateway.openapi.version2",
        "gateway.operations.framework",
        "gateway.operations.openapi",
        "gateway.operations.routes",
        "gateway.outbound.places",
        "gateway.outbound.secured",
        "gateway.outbound.sockets",
        "gateway.patches.json_patch",
        "gateway.patches.merge_patch",
        "gateway.patches.outcome",
        "gateway.patches.strategic_merge_patch",
        "gateway.reading.watch_body",
        "gateway.requests.starting",
        "gateway.requests.unread",
        "gateway.writing.patch_refusals",
        "pydantic",
        "yaml",
    ),
    "with the first body that is no plain JSON of its type": (
        "gateway.schema.go_json",
        "gateway.schema.problems",
        "gateway.schema.repeated_members",
        "gateway.schema.yaml_body",
    ),
    "once requests are answered": (
        "gateway.allocation.repair",
        "gateway.controllers.actor",
        "gateway.controllers.controller",
        "gateway.controllers.election",
        "gateway.controllers.flow_schema_status",
        "gateway.controllers.identity",
        "gateway.controllers.legacy_tokens",
        "gateway.controllers.observing",
        "gateway.controllers.replicas",
        "gateway.controllers.telling",
        "gateway.credentials.validity",
        "gateway.observability.watchdog",
        "gateway.release.roles",
        "storage.compaction",
    ),
    "where etcd has something": (
        "storage.compacted",
        "storage.etcd.range_stream",
        "storage.filling",
        "storage.rereading",
    ),
    "where etcd is started too": ("storage.embedded",),
}

LATER = frozenset(part for parts in PARTS.values() for part in parts)

# What begins a process. Its functions import what they need, also what a server needs from its start on.
BEGINNINGS = (
    "apiserver_gateway",
    "gateway.commands",
    "gateway.launch.feeding",
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
