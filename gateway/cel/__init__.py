"""CEL, the expression language of validation rules and policies (docs/architecture/cel.md).

Start with `program.compile_expression`, `rules` (x-kubernetes-validations) and `policies` (admission). `lexer`,
`parser` and `checker` read an expression, `plan` makes closures of it, `libraries` has the functions.
"""
