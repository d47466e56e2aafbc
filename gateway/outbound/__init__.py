"""The HTTP client for calls to other servers: webhooks, extension API servers, kubelets, pods, issuers of tokens.

`client.Client` makes them: `call` returns a whole answer, `stream` one that is read as it comes, or an upgraded
connection. `target.Target` is the server, `request.OutboundRequest` the request, and `trust.context_of` makes the TLS
context. All failures are `errors.CallError`, with the messages of Go's net/http.
"""
