/*
 * base/sip_four.c: SipHash of four texts at once, by AVX2 where the processor has it.
 *
 * Law: a state is the same as of each text by itself (base/sip.h).  What is behind a text in memory
 * is likely to be hashed next: it is asked for ahead of time, which at some 4 GB/s is half of it.
 */
#include "base/sip.h"

#if defined(__x86_64__)

#include <immintrin.h>

enum { FOUR_STEP = 4 /* words */, FOUR_AHEAD = 4096 /* octets */, FOUR_HALVES = 0xb1 };

#define FOUR_AVX2 __attribute__((target("avx2")))
#define FOUR_TURNED(x, bits)                                                                       \
    _mm256_or_si256(_mm256_slli_epi64((x), (bits)), _mm256_srli_epi64((x), 64 - (bits)))

FOUR_AVX2 static inline void
four_word(__m256i v[4], __m256i word)
{
    v[3] = _mm256_xor_si256(v[3], word);
    v[0] = _mm256_add_epi64(v[0], v[1]);
    v[1] = _mm256_xor_si256(FOUR_TURNED(v[1], 13), v[0]);
    v[0] = _mm256_shuffle_epi32(v[0], FOUR_HALVES);
    v[2] = _mm256_add_epi64(v[2], v[3]);
    v[3] = _mm256_xor_si256(FOUR_TURNED(v[3], 16), v[2]);
    v[0] = _mm256_add_epi64(v[0], v[3]);
    v[3] = _mm256_xor_si256(FOUR_TURNED(v[3], 21), v[0]);
    v[2] = _mm256_add_epi64(v[2], v[1]);
    v[1] = _mm256_xor_si256(FOUR_TURNED(v[1], 17), v[2]);
    v[2] = _mm256_shuffle_epi32(v[2], FOUR_HALVES);
    v[0] = _mm256_xor_si256(v[0], word);
}

FOUR_AVX2 static inline __m256i
four_load(const uint8_t *data, size_t at)
{
    _mm_prefetch((const char *)((uintptr_t)data + at + FOUR_AHEAD), _MM_HINT_T0);
    return _mm256_loadu_si256((const __m256i *)(const void *)(data + at));
}

/* Four words of each: where they were a row by text, they are a column by word. */
FOUR_AVX2 static void
four_words(__m256i v[4], const uint8_t *const data[4], size_t steps)
{
    for (size_t at = 0; steps > 0; steps--, at += FOUR_STEP * MMI_SIP_WORD) {
        __m256i a = four_load(data[0], at), b = four_load(data[1], at), c = four_load(data[2], at),
                d = four_load(data[3], at);
        __m256i even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b),
                other_even = _mm256_unpacklo_epi64(c, d), other_odd = _mm256_unpackhi_epi64(c, d);
        four_word(v, _mm256_permute2x128_si256(even, other_even, 0x20));
        four_word(v, _mm256_permute2x128_si256(odd, other_odd, 0x20));
        four_word(v, _mm256_permute2x128_si256(even, other_even, 0x31));
        four_word(v, _mm256_permute2x128_si256(odd, other_odd, 0x31));
    }
}

FOUR_AVX2 static void
four_by_avx2(mmi_sip *const s[4], const uint8_t *const data[4], size_t steps)
{
    __m256i v[4];
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_set_epi64x((long long)s[3]->v[i], (long long)s[2]->v[i],
                                 (long long)s[1]->v[i], (long long)s[0]->v[i]);
    }
    four_words(v, data, steps);
    for (int i = 0; i < 4; i++) {
        uint64_t each[4];
        _mm256_storeu_si256((__m256i *)(void *)each, v[i]);
        for (int text = 0; text < 4; text++) {
            s[text]->v[i] = each[text];
        }
    }
}

size_t
mmi_sip_four(mmi_sip *const s[4], const uint8_t *const data[4], size_t words)
{
    size_t steps = __builtin_cpu_supports("avx2") ? words / FOUR_STEP : 0;
    if (steps > 0) {
        four_by_avx2(s, data, steps);
    }
    return steps * FOUR_STEP;
}

#else

size_t
mmi_sip_four(mmi_sip *const s[4], const uint8_t *const data[4], size_t words)
{
    (void)s;
    (void)data;
    (void)words;
    return 0;
}

#endif
