# Everything a person needs, from a fresh machine with Python, cargo and make. `make help` lists it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
CARGO := cargo
MANIFEST := rust/Cargo.toml
BUILT := $(VENV)/.built
TESTED := $(VENV)/.test-ready
PRERELEASE := $(VENV)/prerelease/.ready
TRANSFORMERS_4 := $(VENV)/transformers4/.ready
MKDOCS := $(VENV)/mkdocs
SOURCES := pyproject.toml $(MANIFEST) rust/Cargo.lock $(wildcard rust/src/*.rs rust/src/*/*.rs rust/src/*/*/*.rs)

.DEFAULT_GOAL := help
.PHONY: help demo dev quick test test-slow check lint test-rust test-python test-models browser fmt bench texts bench-train bench-encode bench-patterns bench-corpus bench-dropin bench-serving bench-builders
.PHONY: portable ports emulated docs site fuzz soak sanitize valgrind audit clean

SECONDS := 60

help: ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

demo: $(BUILT) ## Build, train 4,096 tokens on Python's own standard library, show the result
	@$(BIN)/bpetite demo

# A changed line of Rust can be imported in seconds, but the code is slower: no optimization at link time. Whatever needs
# the real engine (make test, the benchmarks) builds it again.
DEV_BUILT := rust/target/quick/libbpetite_engine.$(if $(filter Darwin,$(shell uname -s)),dylib,so)

dev: ## Rebuild the engine after a change in Rust, in seconds (slower code; the first time takes a minute more)
	@test -e $(BUILT) -o -e $(VENV)/.dev || $(MAKE) --no-print-directory $(BUILT)
	$(if $(filter Darwin,$(shell uname -s)),RUSTFLAGS='-C link-arg=-undefined -C link-arg=dynamic_lookup') \
		$(CARGO) build --quiet --locked --manifest-path $(MANIFEST) --profile quick --lib --features python
	@cp $(DEV_BUILT) src/bpetite/_engine.abi3.so && touch $(VENV)/.dev && rm -f $(BUILT)

# Whatever is tested here is tested by `make test`, too.
quick: ## Lint, and run the tests that need no other library, process or browser (with the engine as it was built last)
	@test -e $(BUILT) -o -e $(VENV)/.dev || $(MAKE) --no-print-directory $(TESTED)
	@$(BIN)/python -c 'import pytest, xdist' 2>/dev/null || $(MAKE) --no-print-directory $(TESTED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(CARGO) fmt --manifest-path $(MANIFEST) --check
	$(BIN)/pytest -n auto -m 'not slow and not exhaustive and not peers and not processes'

# Two things at a time, each with its output in one piece: much of it is the work of one core.
TOGETHER := -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

# cargo would ask the make above it for its share of the work, and warn that it gets no answer.
test-rust lint test-python test-slow $(BUILT) $(TESTED): export MAKEFLAGS :=

test: ## Build, lint, type-check and test (CI runs this, then `make test-slow`)
	@$(MAKE) --no-print-directory $(TOGETHER) test-rust lint test-python

check: test ## Alias of test

lint: $(TESTED) ## ruff, mypy, stubtest, cargo fmt, clippy
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/stubtest bpetite._engine --mypy-config-file pyproject.toml
	$(CARGO) fmt --manifest-path $(MANIFEST) --check
	$(CARGO) clippy --quiet --locked --manifest-path $(MANIFEST) --all-targets -- -D warnings
	$(CARGO) clippy --quiet --locked --manifest-path $(MANIFEST) --all-targets --all-features -- -D warnings

test-rust: ## The engine's own tests (no Python needed), with this processor's instructions and without
	$(CARGO) test --quiet --locked --manifest-path $(MANIFEST)
	BPETITE_PORTABLE=1 $(CARGO) test --quiet --locked --manifest-path $(MANIFEST)

portable: $(TESTED) ## The differential tests without special instructions of this processor
	BPETITE_PORTABLE=1 $(BIN)/pytest -q -n auto -m 'not slow' tests/engine/test_engine_*.py

# 32 bits, another instruction set, other systems; and a Python without a GIL, for which there need be none here.
PORTS := i686-unknown-linux-gnu aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-pc-windows-msvc

ports: ## Compile the engine for other machines and for Python without a GIL (`rustup target add` brings the targets)
	for target in $(PORTS); do $(CARGO) check --quiet --locked --manifest-path $(MANIFEST) --target $$target || exit 1; done
	PYO3_CONFIG_FILE=$(CURDIR)/tools/free_threaded_python.txt $(CARGO) check --quiet --locked --manifest-path $(MANIFEST) \
		--features python --target-dir rust/target/free-threaded

# Debian has an emulator and a linker: qemu-user, gcc-aarch64-linux-gnu. `rustup target add` brings the target.
emulated: ## The scanner's tests on an emulated aarch64, with its vector instructions
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu' \
		$(CARGO) test --quiet --locked --manifest-path $(MANIFEST) --lib --target aarch64-unknown-linux-gnu -- pretokenize

test-python: $(TESTED) ## The tests of the specification, the differential tests and the tests of the product
	$(BIN)/pytest -n auto

test-slow: $(TESTED) browser $(PRERELEASE) $(TRANSFORMERS_4) ## The tests that are slow by design: every code point, attacks, faults, memory, clusters, the browser
	$(BIN)/pytest -n auto -m 'slow or exhaustive' --durations=30

# The next generation of tokenizers, beside the one that is installed: for tests that it is refused, and for benchmarks.
$(PRERELEASE): $(VENV)/.created
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
		--target $(VENV)/prerelease 'tokenizers==1.0.0rc3' && touch $@ || \
		echo "tokenizers 1.0.0rc3 cannot be had, so that nothing is tested with it"

# The last transformers of the generation before, with the tokenizers that it takes, for tests of what it asks a tokenizer.
$(TRANSFORMERS_4): $(VENV)/.created
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
		--target $(VENV)/transformers4 'transformers==4.57.6' 'tokenizers==0.22.2' 'huggingface-hub==0.36.2' && touch $@ || \
		echo "transformers 4.57.6 cannot be had, so that nothing is tested with it"

MODELS := ../shared/models

test-models: $(TESTED) ## Real tokenizer files, where there is a folder of them (MODELS=folder), against their own libraries
	@if [ -d "$(MODELS)" ]; then unpacked=$$(mktemp -d) && trap 'rm -rf "$$unpacked"' EXIT && \
		BPETITE_MODELS="$(MODELS)" BPETITE_UNPACKED="$$unpacked" $(BIN)/pytest -q tests/formats/real_files.py; \
	else echo "test-models: there is no $(MODELS), so nothing is tested with real files"; fi

browser: ## Install Chromium for the tests of the viewer's page, where it is missing and apt-get may do it
	@tests/support/install_browser.sh

fmt: $(TESTED) ## Format Python and Rust
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(CARGO) fmt --manifest-path $(MANIFEST)

# The benchmarks take these texts, if they are given no others.
TEXTS := texts
NAMED := $(if $(CORPORA),,texts)
READ := $(or $(CORPORA),$(TEXTS))

texts: $(VENV)/.created ## Make the texts of the benchmarks, of Debian's packages (OPTIONS=--large, TEXTS=folder)
	$(BIN)/python -m bench.texts $(TEXTS) $(filter --large,$(OPTIONS))

bench: bench-train bench-encode ## Time us and the peers in the same run (CORPORA=, MODELS=folder for real data)

bench-train: $(BUILT) $(NAMED) ## Time training against the peers, write docs/benchmarks.md (CORPORA=folder of .txt, .txt.xz)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m bench.train $(READ)

bench-encode: $(BUILT) $(PRERELEASE) $(NAMED) ## Time encoding with MODELS=folder of tokenizer files, write docs/benchmarks.md (CORPORA=, OPTIONS=--large)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m bench.encode $(if $(wildcard $(MODELS)),$(MODELS) $(READ)) $(OPTIONS)

bench-patterns: $(BUILT) $(NAMED) ## Time counting and encoding by each named pattern (CORPORA=), write docs/benchmarks.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m bench.patterns --corpora $(READ)

bench-dropin: $(TESTED) $(NAMED) ## Time transformers with tokenizers and with us in it, count wrong results of threads (MODELS=folder, CORPORA=)
	$(BIN)/python -m bench.dropin --corpus $(firstword $(wildcard $(READ)/english.txt*)) \
		--tokenizer $(wildcard $(MODELS)/qwen2.5/tokenizer.json* $(MODELS)/llama3/tokenizer.json*)
	$(BIN)/python -m bench.dropin_threads --corpus $(firstword $(wildcard $(READ)/english.txt*)) \
		--tokenizer $(firstword $(wildcard $(MODELS)/qwen2.5/tokenizer.json*))

bench-serving: $(TESTED) $(NAMED) ## Time what servers wait for: calls, copies, streams, turns of a chat (MODELS=folder, CORPORA=, OPTIONS=)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m bench.serving --corpus $(firstword $(wildcard $(READ)/english.txt*)) $(OPTIONS) \
		--tokenizer $(wildcard $(MODELS)/qwen2.5/tokenizer.json* $(MODELS)/llama3/tokenizer.json*)

bench-corpus: $(BUILT) $(NAMED) ## Compare whole corpora with work in memory (CORPORA=folder), write docs/benchmarks.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[corpus]'
	$(BIN)/python -m bench.corpus $(READ)

bench-builders: $(TESTED) $(NAMED) ## Time superwords, extend and prune (MODELS=folder, CORPORA=, OPTIONS=), write docs/benchmarks.md
	$(BIN)/python -m bench.builders $(READ) $(OPTIONS) \
		--models $(wildcard $(MODELS)/tiktoken/cl100k_base.tiktoken* $(MODELS)/llama3/tokenizer.json*)

docs: $(BUILT) ## Write docs/api.md from the docstrings
	$(BIN)/python tools/make_api_page.py

# The demo page is a report on MODEL, or on what `make demo` trains, with the same text and the documentation. The page names
# its inputs, so that the link to the library keeps this machine's folders out of it.
site: $(BUILT) $(MKDOCS)/.ready ## Build docs/ as pages with a search, to open as files: site/index.html (MODEL=tokenizer file for the demo)
	@mkdir -p build
	@ln -sfn "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" build/python
	$(if $(MODEL),,$(BIN)/bpetite train --quiet --input 'build/python/*.py' --vocab-size 4096 --dialect tiktoken \
		--output build/demo.json --force >build/training.json)
	$(BIN)/bpetite report --quiet $(or $(MODEL),build/demo.json) --input 'build/python/*.py' 'docs/*.md' \
		--output build/demo.html --force
	@# Not quiet: --strict counts the warnings that are printed.
	NO_MKDOCS_2_WARNING=1 $(MKDOCS)/$(notdir $(BIN))/mkdocs build --strict
	@echo "Open site/index.html"

# A group of dependencies needs a newer pip than the one that comes with older Pythons.
$(MKDOCS)/.ready: $(VENV)/.created pyproject.toml
	$(PYTHON) -m venv $(MKDOCS)
	$(MKDOCS)/$(notdir $(BIN))/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(MKDOCS)/$(notdir $(BIN))/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

fuzz: $(TESTED) ## Try random inputs against the specification and the peers (SECONDS=60, SEED=number, ONLY=encoding)
	@$(BIN)/python -m fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

soak: $(TESTED) ## Train, encode and decode for SECONDS and watch the memory
	@$(BIN)/python -m fuzz.soak --seconds $(SECONDS)

# The sanitizer is unstable in name only: its runtime comes with the stable toolchain. Tests ask for more memory than there is.
# It keeps 8 MB of what was freed, not 256: each training frees some megabytes, and the tests of merging train very often.
sanitize: ## The engine's tests under AddressSanitizer (Linux, x86-64)
	ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=8 \
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=rust/target/sanitize \
		$(CARGO) test --quiet --locked --manifest-path $(MANIFEST) --lib --target x86_64-unknown-linux-gnu

# What could not be reached is told, and is no success.
audit: $(TESTED) ## Check the dependencies for advisories, licences and sources, and the workflows (needs the network)
	$(CARGO) install --quiet --locked --root rust/target/tools cargo-deny
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit zizmor check-jsonschema
	@$(BIN)/python tools/audit.py --cargo-deny rust/target/tools/bin/cargo-deny

# Valgrind knows no AVX-512, so that other ways through the text are taken than natively.
valgrind: ## The engine's tests under Valgrind, which also finds what is read before it is written (Linux)
	cd rust && CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='valgrind --quiet --error-exitcode=9' \
		$(CARGO) test --quiet --locked --lib -- --test-threads=1 --skip random_corpora --skip quadratic

clean: ## Remove everything that was built
	rm -rf $(VENV) rust/target dist build site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests bench fuzz -name __pycache__ -type d -exec rm -rf {} +
	find src -name '_engine*.so' -delete

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(BUILT): $(VENV)/.created $(SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@$(BIN)/python -m compileall -q src/bpetite
	@touch $@

$(TESTED): $(BUILT) pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@
