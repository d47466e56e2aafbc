"""Names the test that shows the effect of each flag of `serve`; a unit test checks that each flag is here.

`WITHOUT` has the flags without such a test, and the reasons.
"""

from __future__ import annotations

_AUDIT = "unit/settings/test_flag_values.py::test_sinks_of_audit_are_as_the_flags_say"
_AUDIT_FILES = "unit/settings/test_flag_values.py::test_files_of_audit_are_kept_as_the_flags_say"
_WEBHOOK = "unit/settings/test_flag_values.py::test_the_authorization_webhook_is_as_the_flags_say"
_CONNECTIONS = "hostile/test_connections.py::test_"
_EFFECTS = "integration/server/test_flag_effects.py::test_"
_START = "integration/server/test_start.py::test_"
_CREDENTIALS = "integration/access/test_credentials.py::test_"
_OIDC = "integration/access/test_oidc_flags.py::test_"
_ENTRY = "integration/server/test_entry_points.py::test_"
_DRAINING = "integration/lifecycle/test_draining.py::test_"
_LIMITS = "integration/flowcontrol/test_limits.py::test_"
_TLS = "integration/backups/test_backups.py::test_an_etcd_with_tls"
_REFUSED = "unit/settings/test_flags.py::test_what_cannot_work_is_said"
_BATCHES = ("batch-buffer-size", "batch-max-size", "batch-max-wait")
_BATCHES += ("batch-throttle-enable", "batch-throttle-qps", "batch-throttle-burst")
_SINK = (*_BATCHES, "truncate-enabled", "truncate-max-event-size", "truncate-max-batch-size", "mode")

NAMED: dict[str, str] = {
    "advertise-address": "integration/lifecycle/test_election.py::test_a_server_that_stops_is_no_longer_led_to",
    "workers": "integration/faults/test_endings.py::test_several_workers_are_one_server",
    "shared-cache": "integration/faults/test_feeder.py::test_"
    "workers_go_on_when_the_feeder_is_killed_and_when_one_of_them_is",
    "max-requests-inflight": _LIMITS + "a_level_with_queues_lets_wait",
    "max-mutating-requests-inflight": _LIMITS + "without_priority_and_fairness_reads_and_writes_have_a_limit_each",
    "max-watches-per-user": _LIMITS + "a_watch_gives_its_seat_back_once_it_runs",
    "max-connections-per-address": _CONNECTIONS + "one_address_cannot_have_all_connections",
    "header-timeout": _CONNECTIONS + "a_head_has_to_come_in_time",
    "min-body-rate": "unit/settings/test_flag_values.py::test_limits_of_connections_are_as_the_flags_say",
    "external-hostname": _EFFECTS + "clients_are_told_the_name_of_outside",
    "request-timeout": _EFFECTS + "a_body_that_is_not_there_in_time",
    "min-request-timeout": _EFFECTS + "a_watch_ends_by_itself",
    "cors-allowed-origins": _EFFECTS + "pages_of_some_origins_may_ask",
    "strict-transport-security-directives": _EFFECTS + "browsers_are_told_to_insist_on_tls",
    "tls-sni-cert-key": _EFFECTS + "who_asks_for_a_name_is_shown_its_certificate",
    "permit-port-sharing": "unit/launch/test_ports.py::test_a_port_may_be_shared_by_servers_if_that_is_said",
    **{
        f"default-{name}-toleration-seconds": _EFFECTS + "pods_stay_as_long_on_a_bad_node_as_the_flags_say"
        for name in ("not-ready", "unreachable")
    },
    "kubernetes-version": "integration/server/test_kubernetes_version.py::"
    "test_a_server_says_that_it_is_the_release_of_its_minor",
    "min-compatibility-version": "integration/server/test_kubernetes_version.py::"
    "test_the_least_compatible_minor_is_in_version_metrics_and_flags",
    "emulated-version": "integration/server/test_kubernetes_version.py::"
    "test_an_emulated_minor_has_its_apis_and_gates_and_the_servers_own_version",
    "feature-gates": "integration/representations/test_cbor.py::test_without_the_gate_there_is_none",
    "etcd-servers": _CREDENTIALS + "a_change_is_in_force_at_once_and_within_a_second_on_another_replica",
    "etcd-servers-overrides": "integration/etcd/test_overrides.py::test_events_alone_are_there_under_its_revisions",
    "etcd-prefix": _TLS,
    "encryption-provider-config": "integration/encryption/test_encryption.py::test_values_are_encrypted_and_read_again",
    "encryption-provider-config-automatic-reload": "integration/encryption/test_encryption.py::"
    "test_a_value_of_another_key_is_written_anew_by_an_update_that_changes_nothing",
    **dict.fromkeys(("etcd-cafile", "etcd-certfile", "etcd-keyfile"), _TLS),
    **dict.fromkeys(("etcd-username", "etcd-password"), _START + "a_user_that_etcd_refuses"),
    "etcd-compaction-interval": "integration/etcd/test_compaction.py::test_an_interval_of_zero_compacts_nothing",
    "etcd-compaction-retention": "integration/etcd/test_compaction.py::"
    "test_only_what_is_older_than_the_retention_is_forgotten",
    "consistency-check-interval": "integration/reads/test_checking.py::test_what_differs_is_loaded_anew",
    "delete-collection-workers": _EFFECTS + "a_collection_is_deleted_by_some_at_a_time",
    "enable-garbage-collector": _EFFECTS + "nobody_collects_garbage_before_a_deletion",
    **dict.fromkeys(("embedded-etcd", "data-dir"), _START + "a_data_directory_and_a_port_in_use"),
    **dict.fromkeys(
        ("bind-address", "secure-port"), "integration/doctor/test_doctor.py::test_a_port_in_use_and_who_has_it"
    ),
    "cert-dir": _START + "an_identity_outlives_restarts",
    **dict.fromkeys(
        ("tls-cert-file", "tls-private-key-file"), _START + "a_certificate_that_is_good_for_an_hour_is_spoken_of"
    ),
    "tls-san": _START + "an_identity_outlives_restarts",
    "identity-key-file": _START + "replicas_that_share_nothing_but_etcd_have_one_identity",
    **dict.fromkeys(
        ("audit-policy-file", "audit-log-path"),
        "integration/audit/test_events.py::test_a_write_is_recorded_with_both_objects",
    ),
    "audit-webhook-config-file": "integration/audit/test_events.py::test_events_are_sent_in_lists",
    **{f"audit-{sink}-{name}": _AUDIT for sink in ("log", "webhook") for name in _SINK},
    **dict.fromkeys(("audit-log-format", "audit-webhook-initial-backoff"), _AUDIT),
    **{f"audit-log-{name}": _AUDIT_FILES for name in ("maxsize", "maxbackup", "maxage", "compress")},
    **dict.fromkeys(
        ("audit-log-version", "audit-webhook-version"),
        "unit/settings/test_flag_values.py::test_events_have_one_version",
    ),
    "enable-priority-and-fairness": _LIMITS + "without_priority_and_fairness_reads_and_writes_have_a_limit_each",
    "anonymous-auth": _ENTRY + "flags_of_kube_apiserver",
    "api-audiences": _EFFECTS + "tokens_are_for_the_audiences_of_the_api",
    "authentication-config": _OIDC + "keys_of_the_issuer_are_rotated",
    **dict.fromkeys(
        ("authentication-token-webhook-config-file", "authentication-token-webhook-version"),
        "integration/access/test_webhooks.py::test_a_token_is_asked_about_once",
    ),
    "authentication-token-webhook-cache-ttl": "unit/settings/test_flag_values.py::"
    "test_the_token_webhook_is_as_the_flags_say",
    "admin-token": _REFUSED,
    "client-ca-file": _CREDENTIALS + "nobody_else_is_believed",
    "enable-bootstrap-token-auth": _CREDENTIALS + "a_bootstrap_token_lets_in_as_long_as_its_secret_says",
    **dict.fromkeys(
        (
            *("oidc-issuer-url", "oidc-client-id", "oidc-ca-file", "oidc-username-claim", "oidc-username-prefix"),
            *("oidc-groups-claim", "oidc-groups-prefix"),
        ),
        _OIDC + "claims_make_the_user_with_their_prefixes",
    ),
    "oidc-required-claim": _OIDC + "a_claim_that_is_required_and_missing",
    "oidc-signing-algs": _OIDC + "another_algorithm_is_refused",
    **{
        f"requestheader-{name}": _CREDENTIALS + "a_front_proxy_says_who_it_is"
        for name in ("client-ca-file", "username-headers", "uid-headers", "group-headers", "extra-headers-prefix")
    },
    "requestheader-allowed-names": _CREDENTIALS + "nobody_else_is_believed",
    **dict.fromkeys(
        ("service-account-issuer", "service-account-key-file", "service-account-signing-key-file"),
        "integration/storage_form/test_taking_over.py::test_a_kube_apiserver_reads_what_was_written",
    ),
    "service-account-lookup": "unit/access/test_service_account_tokens.py::test_a_legacy_token_is_its_secrets",
    "service-account-extend-token-expiration": _EFFECTS + "tokens_of_pods_are_not_extended",
    "service-account-max-token-expiration": _REFUSED,
    "service-account-jwks-uri": _EFFECTS + "discovery_tells_where_the_keys_are",
    "token-auth-file": _LIMITS + "a_level_with_queues_lets_wait",
    "authorization-mode": _ENTRY + "flags_of_kube_apiserver",
    "authorization-config": "integration/access/test_webhooks.py::test_a_denial_is_final_and_said",
    **{
        f"authorization-webhook-{name}": _WEBHOOK
        for name in ("config-file", "version", "cache-authorized-ttl", "cache-unauthorized-ttl")
    },
    **dict.fromkeys(
        ("proxy-client-cert-file", "proxy-client-key-file"),
        "unit/settings/test_flag_values.py::test_the_front_proxy_has_the_certificate_of_the_flags",
    ),
    "kubelet-port": _EFFECTS + "kubelets_are_dialled_by_the_address_and_port_that_the_flags_say",
    "kubelet-preferred-address-types": _EFFECTS + "kubelets_are_dialled_by_the_address_and_port_that_the_flags_say",
    "enable-admission-plugins": "integration/admission/test_configured.py::test_images_are_always_pulled",
    "disable-admission-plugins": _ENTRY + "what_envtest_starts",
    "admission-control-config-file": "integration/admission/test_configured.py::test_a_service_is_asked_about_images",
    "controllers": "integration/doctor/test_doctor.py::test_what_is_wrong_with_flags",
    **{
        f"cluster-signing-{name}": _EFFECTS + "certificates_are_of_the_ca_and_the_time_that_the_flags_say"
        for name in ("cert-file", "key-file", "duration")
    },
    "allow-privileged": _ENTRY + "flags_of_kube_apiserver",
    "event-ttl": "integration/writes/test_two_servers.py::test_events_expire",
    "service-cluster-ip-range": "integration/writes/test_two_servers.py::"
    "test_no_two_services_share_an_address_or_a_port",
    "service-node-port-range": "integration/writes/test_two_servers.py::"
    "test_no_two_services_share_an_address_or_a_port",
    "kubeconfig-out": _START + "flags_that_cannot_be",
    "kubeconfig-server": _START + "an_identity_outlives_restarts",
    "control-planes-domain": "integration/clusters/test_hosts.py::test_a_host_is_a_control_plane",
    "control-planes-metrics": "integration/clusters/test_metrics.py::test_a_control_plane_has_series_of_its_own",
    "control-planes-reach": "unit/clusters/test_outbound.py::test_a_client_reaches_what_is_allowed",
    "control-planes": "integration/clusters/test_life.py::test_without_the_flag_nothing_is_below_clusters",
    "testing-api": "integration/testing/test_state.py::test_snapshots_are_refused_to_others_and_elsewhere",
    "shutdown-delay-duration": _DRAINING + "who_asks_while_the_server_drains_is_answered_and_sent_elsewhere",
    "shutdown-send-retry-after": _DRAINING + "requests_after_the_delay_are_told_to_come_back_while_others_finish",
    "shutdown-timeout": "hostile/test_stopping.py::test_a_server_that_computes_is_stopped_all_the_same",
    "tls-min-version": _DRAINING + "the_oldest_version_of_tls_can_be_said",
    "tls-cipher-suites": _DRAINING + "ciphers_of_tls_1_2_can_be_said",
    "goaway-chance": _EFFECTS + "now_and_then_a_connection_is_ended",
    "log-format": "integration/server/test_looking_inside.py::test_every_line_is_json_and_requests_are_logged_at_v_3",
    "v": "integration/server/test_looking_inside.py::test_every_line_is_json_and_requests_are_logged_at_v_3",
    "recorder": "integration/testing/test_recorder.py::test_each_version_has_its_writer_and_each_request_its_answer",
    "vmodule": "unit/settings/test_flags.py::test_flags_of_kube_apiserver_may_say_what_is_so_anyway",
    "runtime-config": "integration/server/test_runtime_config.py::test_what_is_switched_off_is_not_found",
    "tracing-config-file": "integration/server/test_traces.py::test_only_administrators_say_what_is_sampled",
    "profiling": "integration/server/test_looking_inside.py::test_profiles_are_for_administrators_and_off_by_default",
}

WITHOUT: dict[str, str] = {
    "enable-aggregator-routing": "extension API servers of the tests have one endpoint, which is used in both cases",
    "etcd-db-metric-poll-interval": "a test would have to wait for the interval",
    "kubelet-certificate-authority": "no kubelet of the tests has a certificate",
    "kubelet-client-certificate": "no kubelet of the tests has a certificate",
    "kubelet-client-key": "no kubelet of the tests has a certificate",
}
"""Flags whose effect no test shows, and why not."""
