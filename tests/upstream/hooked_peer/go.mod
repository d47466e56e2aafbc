module apiserver-gateway/tests/upstream/hooked

go 1.26
