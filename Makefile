# Shortcuts. CMake builds everything (see CMakePresets.json); these targets first install the Debian packages that they
# need, as root or with sudo, unless HEED_NO_INSTALL=1.

MAKEFLAGS += --no-print-directory

PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Many tests wait for clocks and for other processes.
TEST_JOBS ?= $(shell expr $(JOBS) + 2)
FUZZ_SECONDS ?= 30

REQUIRE = @scripts/require.sh
define build
	@cmake --preset $(1)
	@cmake --build --preset $(1) --parallel $(JOBS)
endef

# Runs the tests that $(1) selects, and ends with the kernels that this machine could not run.
define ctest
	@status=0; ctest --preset release --parallel $(TEST_JOBS) $(1) || status=$$?; \
		scripts/not-run.sh build/release/cli/heed; exit $$status
endef

.PHONY: build run test test-all test-rest test-gpu bench lint install cubins wheel dist fuzz coverage asan tsan valgrind clean help

build: ## build the library and the command line into build/release
	$(REQUIRE) build
	$(call build,release) --target heed_product

run: ## verify and tune attention on this machine: real inputs and the canonical shapes, beside the rivals
	$(REQUIRE) build rivals
	$(call build,release) --target heed_cli heed_rivals
	@scripts/run.sh build/release

test: ## build, and run the tests, with samples of the longest ones
	$(REQUIRE) build rivals test
	$(call build,release)
	$(call ctest,--label-exclude thorough)

test-all: ## build, and run every test
	$(REQUIRE) build rivals test browser
	$(call build,release)
	$(call ctest)

test-rest: ## build, and run the tests that make test leaves out, with other samples of the longest ones
	$(REQUIRE) build rivals test
	$(call build,release)
	$(call ctest,--label-regex thorough --label-exclude exhaustive)

test-gpu: ## verify every CUDA kernel on this machine's GPU, also under compute-sanitizer, and test the laboratory there
	$(REQUIRE) build
	$(call build,release)
	@scripts/test-gpu.sh build/release/cli/heed build/release/tests/gpu || [ $$? -eq 77 ]

bench: ## time the shapes of shapes/seed.txt against the rivals: make bench SHAPES=shapes/grid.txt
	$(REQUIRE) build rivals
	$(call build,release) --target heed_product
	@build/release/cli/heed bench --shapes $(or $(SHAPES),shapes/seed.txt)

lint: ## build with warnings as errors, check format, and run the static analysers
	$(REQUIRE) build rivals test lint
	$(call build,dev)
	@scripts/lint.sh build/dev $(JOBS)

install: ## install under PREFIX (default /usr/local), below DESTDIR if that is set
	$(REQUIRE) build
	$(call build,release) --target heed_product
	@cmake --install build/release --prefix "$(PREFIX)"
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig

cubins: ## compile the kernels that come with the wheel and the tarball into build/cubins (no GPU is needed)
	$(REQUIRE) build wheel
	@cmake --preset release >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target heed_pack
	@scripts/cubins.sh build/release build/cubins $(JOBS)

wheel: cubins ## build the Python package, heed-attention, into build/wheel
	$(REQUIRE) wheel
	@scripts/wheel.sh build/wheel build/cubins

dist: ## pack and test a tarball that runs on any Linux with glibc 2.36 or later, with build/cubins if it exists
	$(REQUIRE) build
	@cmake --preset portable -DHEED_CUBINS="$(abspath $(wildcard build/cubins))"
	@cmake --build --preset portable --parallel $(JOBS)
	@cmake --build --preset portable --target dist
	@tests/dist/test_dist.sh build/portable

fuzz: ## run every fuzz target for FUZZ_SECONDS (default 30)
	$(REQUIRE) build test fuzz
	$(call build,fuzz)
	@scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

coverage: ## run the tests and print the share of lines that they reach
	$(REQUIRE) build rivals test coverage
	$(call build,coverage)
	@ctest --preset coverage --parallel $(JOBS)
	@cd build/coverage && gcovr --gcov-ignore-parse-errors --root ../.. --filter '../../(src|lab|cli)/'

asan: ## run the tests under the address, leak and undefined behaviour sanitizers
	$(REQUIRE) build rivals test
	$(call build,asan-ubsan)
	@ctest --preset asan-ubsan --parallel $(JOBS)

tsan: ## run the tests under the thread sanitizer
	$(REQUIRE) build rivals test
	$(call build,tsan)
	@ctest --preset tsan --parallel $(JOBS)

valgrind: ## run the smoke tests under valgrind
	$(REQUIRE) build test
	$(call build,release)
	@ctest --preset release --parallel $(JOBS) --label-regex valgrind

clean: ## remove the builds of the presets
	@cmake -E rm -rf build/release build/portable build/dev build/asan-ubsan build/tsan build/fuzz build/coverage

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18
