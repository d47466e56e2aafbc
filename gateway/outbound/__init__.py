"""The HTTP client for calls of other servers: webhooks, extension servers, kubelets, pods, issuers of tokens.

`client.Client` makes them: `call` gives a whole answer, `stream` one that is read as it comes, or a connection that was
upgraded. `target.Target` says of whom, `request.OutboundRequest` what, `trust.context_of` whom TLS trusts;
`errors.CallError` is all that goes wrong, in the words that Go's net/http has for it.
"""
