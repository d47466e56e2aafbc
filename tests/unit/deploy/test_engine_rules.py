"""The cleanup of iptables after the tests on a Docker engine keeps all rules but the engine's."""

from tests.engine.machine import without_own

SAVED = """*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [3:180]
:DOCKER - [0:0]
:DOCKER-USER - [0:0]
:KUBE-FORWARD - [0:0]
-A FORWARD -j DOCKER-USER
-A FORWARD -o br-1112977afa67 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -i docker0 ! -o docker0 -j ACCEPT
-A FORWARD -j KUBE-FORWARD
-A FORWARD -i br-lan -j ACCEPT
COMMIT
*nat
:POSTROUTING ACCEPT [0:0]
:DOCKER - [0:0]
-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
-A POSTROUTING -s 10.0.0.0/8 -j MASQUERADE
COMMIT
"""


def test_the_rules_of_others_and_the_policy_of_before_stay() -> None:
    assert without_own(SAVED, "ACCEPT").splitlines() == [
        "*filter",
        ":INPUT ACCEPT [0:0]",
        ":FORWARD ACCEPT [0:0]",
        ":KUBE-FORWARD - [0:0]",
        "-A FORWARD -j KUBE-FORWARD",
        "-A FORWARD -i br-lan -j ACCEPT",
        "COMMIT",
        "*nat",
        ":POSTROUTING ACCEPT [0:0]",
        "-A POSTROUTING -s 10.0.0.0/8 -j MASQUERADE",
        "COMMIT",
    ]


def test_where_nothing_is_the_engines_nothing_changes() -> None:
    others = "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -s 10.0.0.0/8 -j MASQUERADE\nCOMMIT\n"
    assert without_own(others, "ACCEPT") == others
