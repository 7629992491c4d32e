# `make help` lists what there is. Everything installs what it needs; state and caches live outside the
# repository (see e2e/cluster), so any number of checkouts share them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# By itself uv heeds neither the mirror that pip is told of nor the system's authorities.
UV = UV_SYSTEM_CERTS="$${UV_SYSTEM_CERTS:-true}" \
  UV_INDEX_URL="$${UV_INDEX_URL:-$$($(BIN)/pip config list | sed -n "s/^[a-z:]*\.index-url='\(.*\)'$$/\1/p" | head -1)}" \
  $(BIN)/uv

# Where the environment keeps Python from writing what it has compiled, each of a thousand processes would compile
# anew, for seconds. It is written, but not beside the sources.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache

.PHONY: help
help: ## What you can do here
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

# --- the project's own environment ----------------------------------------------------------------------------

# Before anything is made with it, for minutes perhaps.
.PHONY: python
python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11")'

$(VENV)/.installed: requirements/dev.txt pyproject.toml | python
	@echo "Installing the Python packages of requirements/dev.txt into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -q --disable-pip-version-check "$$(grep -oE '^uv==[^ ]+' requirements/dev.txt)"
	@$(UV) pip sync -q --python $(BIN)/python --require-hashes requirements/dev.txt
	@$(UV) pip install -q --python $(BIN)/python --no-deps --editable .
	@touch $@

.PHONY: install
install: $(VENV)/.installed ## Install the Python packages into .venv

.PHONY: lock
lock: install ## Pin the dependencies of pyproject.toml anew
	$(UV) pip compile -q pyproject.toml --generate-hashes --python-version 3.11 --no-header --no-annotate -o requirements/operator.txt
	$(UV) pip compile -q pyproject.toml --group dev --generate-hashes --python-version 3.11 --no-header --no-annotate -o requirements/dev.txt

# --- checks ---------------------------------------------------------------------------------------------------

.PHONY: check
check: install ## Format, lint, types, layers, generated files: seconds
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --config pyproject.toml
	$(BIN)/sluice crds --check
	$(BIN)/python -m dashboards --check

.PHONY: format
format: install ## Format the code and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: generate
generate: install ## Write CRDs, reference, tables of metrics and dashboards from their sources
	$(BIN)/sluice crds --write
	$(BIN)/python -m dashboards --write

# Many tests start Spark; without Java each of them would fail in words of its own.
.PHONY: java
java:
	@"$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | grep -Eq 'version "(1[7-9]|[2-9][0-9])' || \
	  { echo "Java 17 or newer is needed, by tests that start Spark: put it on the PATH, or set JAVA_HOME" >&2; exit 1; }

# What only makes the tests' Sparks start sooner may be missing.
CLASSES := build/spark-$(shell sed -n 's/^pyspark==\([^ ]*\).*/\1/p' requirements/dev.txt).jsa
$(CLASSES): $(VENV)/.installed $(wildcard tests/support/java/*.py tests/support/java/bin/*) | java
	@echo "Archiving the classes of Spark, for the tests that start it ..."
	@mkdir -p build
	-@$(BIN)/python -m tests.support.java > build/classes.log 2>&1 || { cat build/classes.log; exit 1; }

.PHONY: unit
unit: java install $(CLASSES) ## Tests that need no cluster
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: spark-versions
spark-versions: java install ## The agent's tests with the other releases of PySpark that jobs may have: half an hour
	@for pins in requirements/pyspark-*.txt; do \
	  folder=$(CURDIR)/build/$$(basename $$pins .txt); \
	  $(UV) pip install -q --python $(BIN)/python --target $$folder --no-deps --require-hashes -r $$pins || exit 1; \
	  PYTHONPATH=$$folder $(BIN)/python -c 'import pyspark; print("--- PySpark", pyspark.__version__)'; \
	  PYTHONPATH=$$folder $(BIN)/python -m tests.support.java; \
	  PYTHONPATH=$$folder $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/agent || exit 1; \
	done

.PHONY: programs
programs: python ## Helm and promtool for the tests, built if they are not on the PATH
	@# Before 3.18 it refused values in other words than the tests look for.
	@helm version --template '{{.Version}}' 2>/dev/null | grep -Eq '^v(3\.(1[89]|[2-9][0-9])|[4-9])' || \
	  $(PYTHON) -m e2e.cluster build clients
	@$(PYTHON) -m e2e.cluster build promtool

.PHONY: e2e
e2e: install ## All tests on the local cluster, which is brought up for them: the better part of an hour
	$(BIN)/python -m e2e

.PHONY: e2e-brief
e2e-brief: install ## All but the thorough ones: kills, deletions, scaling, a profile, bad input, metrics
	$(BIN)/python -m e2e --brief

.PHONY: faults
faults: install ## A hundred faults to a running job, at random moments: hours; writes bench/results/faults
	SLUICE_FAULTS=100 $(BIN)/python -m e2e -- e2e/test_faults.py -s

.PHONY: alert-drill
alert-drill: install ## Make alerts fire and resolve in a real Prometheus: about 40 minutes; writes bench/results/alerts
	$(BIN)/python -m e2e -- e2e/drill_alerts.py -s

.PHONY: rescale-drill
rescale-drill: install ## Rescale jobs with and without state live, twenty times each, under load: three quarters of an hour; writes bench/results/rescale
	$(BIN)/python -m e2e -- e2e/drill_rescale.py -s

.PHONY: profile-drill
profile-drill: install ## Profile jobs beside production, live, at saturation, and with each kind of sink: three quarters of an hour; writes bench/results/profile
	$(BIN)/python -m e2e -- e2e/drill_profile.py e2e/drill_sinks.py -s

.PHONY: restart-drill
restart-drill: install ## Restart a job by the operator and by hand in turn: ten minutes; writes bench/results/restart
	$(BIN)/python -m e2e -- e2e/drill_restart.py -s

.PHONY: harm-drill
harm-drill: install ## Let a rescale make a job slower, and see it undone: a quarter of an hour; writes bench/results/harm
	$(BIN)/python -m e2e -- e2e/drill_harm.py -s

.PHONY: silence-drill
silence-drill: install ## Let a job's source fall silent, and see its executors kept: an hour
	$(BIN)/python -m e2e -- e2e/drill_silence.py -s

.PHONY: steps-drill
steps-drill: install ## Kill the operator at each step of a profile, of live rescales and of a restart: a quarter of an hour; writes bench/results/steps
	$(BIN)/python -m e2e -- e2e/drill_steps.py -s

.PHONY: test
test: java check programs unit e2e-brief ## Everything that CI runs; sets up what it needs

.PHONY: bench-closed-loop
bench-closed-loop: install ## One job scaled in four ways under the same load and failures, and in the lab: four hours
	@$(PYTHON) -m e2e.cluster up
	$(BIN)/python -m bench.closed_loop

# --- benchmarks on simulated jobs -----------------------------------------------------------------------------

.PHONY: bench-lab
bench-lab: install ## All policies on simulated Spark jobs: three hours; writes bench/results/lab
	$(BIN)/python -m bench.lab --keep .lab-outcomes.jsonl

.PHONY: bench-phoebe
bench-phoebe: install ## Phoebe's published evaluation, simulated: ten minutes; writes bench/results/phoebe
	$(BIN)/python -m bench.phoebe

.PHONY: bench-objectives
bench-objectives: install ## What an objective does to rescales: ten minutes; writes bench/results/objectives
	$(BIN)/python -m bench.objectives

.PHONY: bench-decision
bench-decision: install ## The price of one decision: two minutes; writes bench/results/decision
	$(BIN)/python -m bench.decision

# --- a local cluster ------------------------------------------------------------------------------------------

.PHONY: cluster
cluster: python ## A local Kubernetes: with kind where there is Docker, else from Linux namespaces
	$(PYTHON) -m e2e.cluster up

.PHONY: cluster-down
cluster-down: python ## Remove the local cluster and all that it made
	$(PYTHON) -m e2e.cluster down

.PHONY: images
images: python ## Build the images and load them into the local cluster
	$(PYTHON) -m e2e.images

# --- demo -----------------------------------------------------------------------------------------------------

.PHONY: demo
demo: python ## A streaming job that is measured, scaled, killed and recovers, live: 14 min; MINUTES=0 only starts it
	@$(PYTHON) -m e2e.cluster up
	@$(PYTHON) -m e2e.images
	@$(PYTHON) -m demo up $(if $(MINUTES),--minutes $(MINUTES))

.PHONY: demo-down
demo-down: python ## Remove the demo; the cluster stays
	@$(PYTHON) -m demo down
