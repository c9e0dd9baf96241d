#!/usr/bin/env bash
# Fuzzes the frame reader, the handshake, SP, a connection of either, CURVE, PLAIN, TLS, acknowledged messages, what goes
# with a message, the files of a spool, its cursors, ranges of it, and both ends of a replay.
# Usage: tests/fuzz/run.sh FOLDER; FUZZ_SECONDS each.
# With clang and its fuzzer runtime it searches; without, it replays the corpus under the sanitizers.
set -euo pipefail
folder=$1
cd "$(dirname "$0")/../.."
mkdir -p "$folder"
# Of a spool what needs no thread.
threads="shared*.c sweep.c nowait.c watches.c view.c"
sources="$(find csrc/base csrc/crypto csrc/wire csrc/queue csrc/role -name '*.c')"
sources="$sources $(set -f; find csrc/spool -name '*.c' $(printf '! -name %s ' $threads))"
sources="$sources csrc/plat/posix/library.c csrc/plat/file.c"
all="$(find csrc -name '*.c' -not -path 'csrc/binding/*')" # both ends of a replay are sockets
flags="-std=c11 -D_GNU_SOURCE -g -O1 -Icsrc/include -Icsrc -Itests/c -fno-sanitize-recover=all"
libraries="-pthread -ldl"
for name in reader hello sp handshake curve plain tls delivery meta spool cursor blocks replay replayed; do
    core=$sources
    case $name in replay*) core=$all ;; esac
    if command -v clang >/dev/null && clang $flags -fsanitize=fuzzer,address,undefined $core \
        "tests/fuzz/fuzz_$name.c" $libraries -o "$folder/fuzz_$name" 2>/dev/null; then
        mkdir -p "$folder/corpus_$name"
        "$folder/fuzz_$name" -max_total_time="${FUZZ_SECONDS:-60}" -max_len=4096 -print_final_stats=1 \
            "$folder/corpus_$name" "tests/fuzz/corpus/$name" 2>&1 | grep -E "stat::|ERROR|SUMMARY|artifact" || exit 1
    else
        ${CC:-cc} $flags -fsanitize=address,undefined $core tests/fuzz/fuzz_main.c \
            "tests/fuzz/fuzz_$name.c" $libraries -o "$folder/replay_$name"
        "$folder/replay_$name" tests/fuzz/corpus/"$name"/*
    fi
done
