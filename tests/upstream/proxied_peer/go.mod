module apiserver-gateway/tests/upstream/proxied

go 1.26
