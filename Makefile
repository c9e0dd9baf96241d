# make demo: build and run the main job; make demo SECURE=1: protected by CURVE.  make test: everything that must pass.
# Both install what they need into .venv; a bare machine needs Python >= 3.10, its venv module, and gcc.
# make install-c: the library for C programs (docs/c.md), which needs a C compiler only.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(VENV)/bin/pip --disable-pip-version-check -q
BUILD := .build
SEED ?= 1
COUNT ?= 200
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# One more for tests: many of them wait, for a peer or a process.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
# What Python compiles is kept, whatever the environment says: each process would compile all tests again.
BYTECODE := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/$(BUILD)/bytecode
FUZZ_SECONDS ?= 60
C_SOURCES := $(shell find csrc -name '*.c' -o -name '*.h' -o -name '*.py')

.PHONY: demo test check build asan tsan fuzz sim mutants bench bench-all wheels build-c install-c clean
.PHONY: check-mypy check-pyright check-collect check-tidy check-form
.PHONY: spark-versions
.PHONY: crash crash-kills crash-calls crash-harm crash-spark crash-mesh

demo: $(BUILD)/$(if $(SECURE),secure,demo).stamp
	$(PY) -m examples.story --out demo-out $(if $(SECURE),--secure)

# Those of `check` are not run again; the C tests link what `asan` has compiled.
test: check asan tsan
	MESHMSG_ASAN_OBJECTS=$(CURDIR)/$(BUILD)/asan/objects $(BYTECODE) $(PY) -m pytest -q -n $(TEST_JOBS) --dist loadfile tests --ignore tests/test_tidy.py

build: $(BUILD)/dev.stamp

# Side by side; the two that look at types are most of it.
check: $(BUILD)/dev.stamp
	$(MAKE) --no-print-directory -j $(JOBS) --output-sync=target check-mypy check-pyright check-collect check-tidy check-form

# Each file of tests can be imported; what it compiles is there for the stages behind.
check-collect:
	$(BYTECODE) $(PY) -m pytest -qq --collect-only tests >$(BUILD)/collected || { cat $(BUILD)/collected; exit 1; }

check-mypy:
	$(VENV)/bin/mypy

check-pyright:
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/pyright

check-tidy:
	$(PY) -m pytest -q tests/test_tidy.py

check-form:
	$(VENV)/bin/ruff check src patterns spark_integration bench examples tests csrc setup.py
	$(VENV)/bin/ruff format --check .
	find csrc tests examples bench -name '*.c' | xargs $(VENV)/bin/clang-format --dry-run -Werror

asan: $(BUILD)/asan.stamp
	$(BYTECODE) TEST_JOBS=$(TEST_JOBS) tests/sanitized.sh asan $(BUILD)/asan $(PY)

tsan: $(BUILD)/dev.stamp
	tests/sanitized.sh tsan $(BUILD)/tsan $(PY)

fuzz: $(BUILD)/dev.stamp
	FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run.sh $(BUILD)/fuzz

sim: $(BUILD)/dev.stamp
	MESHMSG_SIM_SEEDS=$${SEEDS:-2000} $(PY) -m pytest -q -n $(JOBS) tests/sim

# Programs that are killed, disks that fail and files that are harmed; how long each part takes is in docs/faults.md.
# make crash PARTS="calls harm": those alone. ROUNDS, KILL_ROUNDS, SPARK_ROUNDS, CLUSTER_ROUNDS: how often.
PARTS ?= kills calls harm spark mesh
CRASH := MESHMSG_CRASH_SEED=$(SEED) $(PY) -m pytest -q

crash: $(PARTS:%=crash-%)

# The tests of tests/spark with each version of Spark that is supported, in environments of their own under $(BUILD),
# and a table: an hour or more, and 1 GB of disk for each. make spark-versions VERSIONS="4.0.2 4.1" TESTS=...: those.
spark-versions: $(BUILD)/dev.stamp
	$(PY) -m tests.spark.versions --folder $(BUILD) --tests "$${TESTS:-tests/spark}" $(VERSIONS)

# Producers, workers, publishers and members are killed and stopped: 1,000 rounds of each test.
crash-kills: $(BUILD)/dev.stamp
	MESHMSG_CRASH_ROUNDS=$${ROUNDS:-1000} $(CRASH) -n $(JOBS) tests/crash

# Each call of the system that a spool makes fails once, for as many of them as there are rounds: that is all.
crash-calls: $(BUILD)/dev.stamp
	MESHMSG_CRASH_ROUNDS=$${ROUNDS:-1000} $(CRASH) -n $(JOBS) tests/fault/test_faults_calls.py

# Each bit of a spool's files is turned, each file is cut at each octet, and each outcome of a stopped machine is tried.
crash-harm: $(BUILD)/dev.stamp
	MESHMSG_SPOOL_STRIDE=$${STRIDE:-1} MESHMSG_SPOOL_SEEDS=$${SEEDS:-15} MESHMSG_C_SECONDS=86400 $(CRASH) -rP \
	  tests/unit/test_c.py -k '(test_spool_harm or test_spool_cuts) and sanitizer'

# A query of Spark through many kills, of its workers, runner, driver, executors and producers; one that reads, and one
# that writes.
crash-spark: $(BUILD)/dev.stamp
	MESHMSG_CRASH_ROUNDS=$${KILL_ROUNDS:-50} MESHMSG_SPARK_ROUNDS=$${SPARK_ROUNDS:-60} \
	MESHMSG_CLUSTER_ROUNDS=$${CLUSTER_ROUNDS:-10} $(CRASH) -s tests/spark/test_kill.py \
	  tests/spark/test_cluster.py tests/spark/test_campaign.py tests/spark/test_sink_kill.py

# A mesh of 100 processes on five machines, which are network namespaces: kills, a cut, an address that changes.
crash-mesh: $(BUILD)/dev.stamp
	MESHMSG_MESH_PROCESSES=$${PROCESSES:-100} $(CRASH) -s tests/mesh/test_mesh_crowd.py

# Changes one operator of the C core at a time: an hour or two (tests/mutants/README.md). A run that is cut off goes on
# where it stopped.
mutants: $(BUILD)/dev.stamp
	$(PY) -m tests.mutants --seed $(SEED) --count $(COUNT) --jobs $(JOBS)

# The short set, some ten minutes; both commands compare with the stored line (bench/targets/baseline.json).
bench: $(BUILD)/dev.stamp
	$(PY) -m bench targets --short --json $(BUILD)/bench.json --report $(BUILD)/bench.html
	$(PY) -m bench micro --seconds 0.1

# The whole that docs/performance.md is made from, on a machine with nothing else to do.
bench-all: $(BUILD)/dev.stamp
	$(PY) -m bench targets --markdown $(BUILD)/targets.md --json $(BUILD)/bench-all.json --report $(BUILD)/bench-all.html
	$(PY) -m bench micro

# What is published, into dist: with a container engine manylinux_2_28 and musllinux_1_2 wheels for x86_64 and
# aarch64; without one, a wheel for this machine's C library. All are audited, and the sdist is beside them.
wheels: $(BUILD)/wheels.stamp
	$(VENV)/bin/cibuildwheel --platform linux --archs x86_64,aarch64 --print-build-identifiers
	rm -rf dist
	$(PY) -m build --sdist --outdir dist
	@if docker info >/dev/null 2>&1; then \
	  $(VENV)/bin/cibuildwheel --platform linux --output-dir dist; \
	else \
	  echo "No container engine is here: the wheel is for this machine's C library only."; \
	  $(PY) -m build --wheel --outdir dist; \
	fi
	for wheel in dist/*.whl; do \
	  $(VENV)/bin/auditwheel show $$wheel && $(VENV)/bin/abi3audit --strict $$wheel || exit 1; \
	done
	$(VENV)/bin/twine check --strict dist/*
	MESHMSG_FRESH_VENV=1 $(PY) -m pytest -q tests/test_spark_extra.py

# ---- the library for C: libmeshmsg.so, libmeshmsg.a, meshmsg.pc and the headers; Python is not needed ----

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DESTDIR ?=
# Until 1.0 a structure or a function that changes takes the next number.
SOVERSION := 0
CORE := $(filter-out csrc/binding/%,$(filter %.c,$(C_SOURCES)))
CORE_OBJECTS := $(CORE:csrc/%.c=$(BUILD)/c/%.o)
# As the extension is compiled (csrc/cffi_build.py); only what meshmsg.h marks is exported.
CORE_FLAGS := -std=c11 -D_GNU_SOURCE -fvisibility=hidden -Wall -Wextra -pthread -O2 -g1
CORE_LIBRARIES := $(BUILD)/c/libmeshmsg.so.$(SOVERSION) $(BUILD)/c/libmeshmsg.a

build-c: $(CORE_LIBRARIES)

install-c: $(CORE_LIBRARIES)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	install -m 644 csrc/include/meshmsg.h csrc/include/meshmsg_codes.h $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $(BUILD)/c/libmeshmsg.a $(DESTDIR)$(LIBDIR)
	install -m 755 $(BUILD)/c/libmeshmsg.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)
	ln -sf libmeshmsg.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libmeshmsg.so
	version=$$(sed -n 's/^#define MM_VERSION "\(.*\)"/\1/p' csrc/include/meshmsg.h) && \
	sed -e "s|@VERSION@|$$version|" -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
	  -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' csrc/meshmsg.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/meshmsg.pc

$(BUILD)/c/libmeshmsg.so.$(SOVERSION): $(CORE_OBJECTS)
	$(CC) -shared -pthread -Wl,-soname,$(@F) -Wl,-z,defs $(LDFLAGS) $^ -ldl -o $@

$(BUILD)/c/libmeshmsg.a: $(CORE_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/c/%.o: csrc/%.c
	@mkdir -p $(@D)
	$(CC) $(CORE_FLAGS) $(CFLAGS) -fPIC -DMM_BUILDS_LIBRARY -MMD -MP -Icsrc -Icsrc/include -c $< -o $@

-include $(CORE_OBJECTS:.o=.d)

$(VENV)/ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "meshmsg needs Python 3.10 or later; say which: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing; on Debian: apt-get install python3-venv python3-dev gcc"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip 'setuptools>=80' wheel 'cffi>=2.0'
	@touch $@

# Editable, so that the tests see the working tree; the extension is built in place.
$(BUILD)/core.stamp: $(VENV)/ready pyproject.toml setup.py $(C_SOURCES)
	@mkdir -p $(BUILD)
	$(PIP) install --no-build-isolation -e .
	@touch $@

# What is installed already is not compiled again for its extras: by a path it would be.
$(BUILD)/demo.stamp: $(BUILD)/core.stamp
	$(PIP) install 'meshmsg[demo]'
	@touch $@

$(BUILD)/secure.stamp: $(BUILD)/demo.stamp
	$(PIP) install 'meshmsg[demo,curve]'
	@touch $@

$(BUILD)/dev.stamp: $(BUILD)/demo.stamp
	$(PIP) install --group dev
	@touch $@

$(BUILD)/wheels.stamp: $(BUILD)/core.stamp
	$(PIP) install --group wheels
	@touch $@

$(BUILD)/asan.stamp: $(BUILD)/dev.stamp
	MESHMSG_SANITIZE=address,undefined MESHMSG_WERROR=1 $(PY) tests/support/build_sanitized.py $(BUILD)/asan
	@touch $@

clean:
	rm -rf $(VENV) $(BUILD) build dist demo-out src/meshmsg/_mm*.so src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
