"""What makes an object invalid: field errors in kube-apiserver's order and words, a module a kind or a part of one."""
