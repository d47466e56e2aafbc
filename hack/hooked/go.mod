module apiserver-gateway/hack/hooked

go 1.26
