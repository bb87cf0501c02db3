/*
 * Copies of short ranges in which no byte is stored twice. For C and C++.
 *
 * The C library's memmove stores a short range from both ends, and the two may overlap: a target that
 * polls a flag and resets it could find it set again, or a part of it, between the two stores.
 */
#ifndef RMALOCK_COPY_ONCE_H
#define RMALOCK_COPY_ONCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* One load, and one store, of an element that need not be aligned. */
#define RMALOCK_DEFINE_ACCESS(type)                                                                \
    struct __attribute__((packed, may_alias)) rmalock_##type {                                     \
        type value;                                                                                \
    };                                                                                             \
    static inline type rmalock_load_##type(const void* from) {                                     \
        return ((const volatile struct rmalock_##type*)from)->value;                               \
    }                                                                                              \
    static inline void rmalock_store_##type(void* to, type value) {                                \
        ((volatile struct rmalock_##type*)to)->value = value;                                      \
    }
RMALOCK_DEFINE_ACCESS(uint16_t)
RMALOCK_DEFINE_ACCESS(uint32_t)
RMALOCK_DEFINE_ACCESS(uint64_t)
#undef RMALOCK_DEFINE_ACCESS

enum { RMALOCK_ONCE_MOST = 64 };

/* At most RMALOCK_ONCE_MOST bytes; the two ranges may overlap, so that all is loaded first. Elements
 * of 2, 4 and 8 bytes that follow each other are stored whole. */
static inline void rmalock_copy_once(void* to, const void* from, size_t bytes) {
    const char* source = (const char*)from;
    char* target = (char*)to;
    uint64_t words[RMALOCK_ONCE_MOST / sizeof(uint64_t)];
    uint32_t four = 0;
    uint16_t two = 0;
    char one = 0;
    const size_t whole = bytes / sizeof *words;
    for (size_t i = 0; i < whole; ++i)
        words[i] = rmalock_load_uint64_t(source + i * sizeof *words);
    source += whole * sizeof *words;
    if (bytes & sizeof four) {
        four = rmalock_load_uint32_t(source);
        source += sizeof four;
    }
    if (bytes & sizeof two) {
        two = rmalock_load_uint16_t(source);
        source += sizeof two;
    }
    if (bytes & sizeof one)
        one = *source;
    for (size_t i = 0; i < whole; ++i)
        rmalock_store_uint64_t(target + i * sizeof *words, words[i]);
    target += whole * sizeof *words;
    if (bytes & sizeof four) {
        rmalock_store_uint32_t(target, four);
        target += sizeof four;
    }
    if (bytes & sizeof two) {
        rmalock_store_uint16_t(target, two);
        target += sizeof two;
    }
    if (bytes & sizeof one)
        *target = one;
}

/* Any number of bytes. Long ranges are copied in vectors, which overlap where their number is not a
 * multiple: a program that resets a word in the middle of an array while it is put may find it set
 * again. */
static inline void rmalock_copy(void* to, const void* from, size_t bytes) {
    if (bytes <= RMALOCK_ONCE_MOST)
        rmalock_copy_once(to, from, bytes);
    else
        memmove(to, from, bytes);
}

#endif
