#!/usr/bin/env bash
# Runs the part of the suite that finds something under a sanitizer.
# Usage: tests/sanitized.sh asan|tsan FOLDER PYTHON   (FOLDER: from tests/support/build_sanitized.py)
# Leaks are checked in the C tests (tests/unit/test_c.py), where the interpreter's own do not hide them.
set -euo pipefail
mkdir -p "$2"
kind=$1 folder=$(cd "$2" && pwd) python=$3
cd "$(dirname "$0")/.."
cc=${CC:-gcc}
export PYTHONPATH=$folder
[ -n "${PYTHONPYCACHEPREFIX:-}" ] || export PYTHONDONTWRITEBYTECODE=1

case $kind in
asan)
    libs="$($cc -print-file-name=libasan.so) $($cc -print-file-name=libubsan.so)"
    # Where memory is from is told by five callers: to find thirty, at each allocation, was a tenth of the time.
    export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:malloc_context_size=5 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    # Left out: what compiles, type-checks, reads texts or keeps books and runs next to nothing of the core, and one test
    # that needs a gigabyte of it. The mesh in the simulator is Python without the core. All of it runs without sanitizers as well, the seeds all of them.
    left_out=$(printf -- '--ignore tests/unit/test_%s.py ' c typing docstrings documented_limits events_documented \
        demo_parts mesh_core mesh_octets mesh_opinions mesh_table spark spark_offsets spark_options spark_planning spark_progress spark_watch mutants mutants_run elsewhere wrong_role idle_books idle_leaving work_books work_batch work_held option_limits)
    # Of a cross of three parameters and more each pair of values is here, and each combination in the plain suite.
    export MESHMSG_PAIRS=${MESHMSG_PAIRS-1}
    # What Python has in its own pools, up to 512 octets each, is not watched. These tests hand such memory over, so they
    # run without pools; for all of them that would be twice the time.
    handed_over=$(printf 'tests/unit/test_%s.py ' aio_buffers arrow batch batch_no_memory buffers frames_formed frames_native \
        request_frames send_many send_native spool_arrow spool_batch spool_copy spool_frames)
    sanitized="$python -m pytest -q -p no:cacheprovider -n ${TEST_JOBS:-3} --durations=15"
    export MESHMSG_SIM_SEEDS=${MESHMSG_SIM_SEEDS:-40}
    LD_PRELOAD=$libs PYTHONMALLOC=malloc $sanitized $handed_over
    LD_PRELOAD=$libs $sanitized tests/unit tests/conformance tests/hostile tests/sim $left_out --ignore tests/sim/mesh \
        $(printf -- '--ignore %s ' $handed_over) \
        --deselect tests/hostile/test_subscription_floods.py::test_a_million_topics_come_back_after_a_reconnect
    ;;
tsan)
    # The core once, and then the programs, side by side. Each links the core as a library.
    export cc folder flags="-std=c11 -D_GNU_SOURCE -fPIC -g -O1 -fsanitize=thread -Icsrc/include -Icsrc -Itests/c"
    export TSAN_OPTIONS=die_after_fork=0:halt_on_error=1
    at_once=$(nproc)
    rm -rf "$folder/c"
    mkdir -p "$folder/c/core"
    find csrc -name '*.c' -not -path 'csrc/binding/*' |
        xargs -P "$at_once" -I{} sh -c '$cc $flags -c {} -o "$folder/c/core/$(echo {} | tr / _).o"'
    $cc $flags -shared "$folder"/c/core/*.o -pthread -ldl -o "$folder/c/libcore.so"
    # Certificates for the programs of TLS; OpenSSL itself is not instrumented.
    export TLS_CERTIFICATES=$folder/c/certificates
    mkdir -p "$TLS_CERTIFICATES"
    $python -c 'import pathlib, sys; from tests.support.certificates import write; write(pathlib.Path(sys.argv[1]))' "$TLS_CERTIFICATES"
    one() { # What a program says is told as it ends, in one piece; the others go on when one fails.
        local built=$folder/c/$1 failed=0
        {
            $cc $flags "tests/c/$1.c" "$folder/c/libcore.so" "-Wl,-rpath,$folder/c" -pthread -ldl -o "$built" &&
                "$built"
        } >"$built.said" 2>&1 || failed=1
        cat "$built.said"
        [ $failed = 0 ] || echo "$1: FAILED under TSan" >&2
        return $failed
    }
    export -f one
    # The longest come first, so that none of them is alone at the end.
    printf '%s\n' test_engine_threads test_lead test_lead_receipts test_spool_shared test_spool_waits test_spool_nowait \
        test_spool_held test_spool_view test_spool_compact_shared test_feed test_groups test_replay_turns test_loop_lead \
        test_pollset test_memory test_engine_beside test_engine_burst test_tx_room test_link_small test_link_ack \
        test_large test_lead_states test_waiter test_curve test_plain test_tls test_tls_records test_tls_sockets \
        test_mechanism_flood test_mechanism_steps test_applicants test_applicants_ahead test_secret |
        xargs -P "$at_once" -I{} bash -c 'one {}'
    echo "threads under TSan: clean"
    ;;
*)
    echo "usage: $0 asan|tsan FOLDER PYTHON" >&2
    exit 2
    ;;
esac
