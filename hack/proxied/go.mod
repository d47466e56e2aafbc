module apiserver-gateway/hack/proxied

go 1.26
