/*
 * Reading unwind tables byte by byte, never outside of the segment that holds them.
 *
 * Called from: signal handlers and the sampler thread. Errors are sticky: a read past the end gives 0 and
 * sets `failed`, which the caller checks once, at the end. With `careful` the bytes come through the kernel,
 * so memory that is being unmapped is an error, not a fault. Inline: this is the inner loop of a cache miss.
 *
 * Standard: LSB 5.0 Core 10.5 (pointer encodings), DWARF 5 section 7.6 (LEB128).
 */
#ifndef WALLPROF_SIG_READER_H
#define WALLPROF_SIG_READER_H

#include "sig/sys/sig_memory.h"
#include "sig_modules.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIG_READER_WINDOW_BYTES = 64 };

/* LSB 5.0 Core 10.5.1: DWARF exception header encoding. */
enum {
    SIG_PE_ABSPTR = 0x00,
    SIG_PE_ULEB128 = 0x01,
    SIG_PE_UDATA2 = 0x02,
    SIG_PE_UDATA4 = 0x03,
    SIG_PE_UDATA8 = 0x04,
    SIG_PE_SLEB128 = 0x09,
    SIG_PE_SDATA2 = 0x0a,
    SIG_PE_SDATA4 = 0x0b,
    SIG_PE_SDATA8 = 0x0c,
    SIG_PE_FORMAT_MASK = 0x0f,
    SIG_PE_PCREL = 0x10,
    SIG_PE_DATAREL = 0x30,
    SIG_PE_APPLICATION_MASK = 0x70,
    SIG_PE_INDIRECT = 0x80,
    SIG_PE_OMIT = 0xff,
};

struct sig_reader {
    uint64_t at, end;
    int64_t shift; /* from an address to where its bytes are */
    bool failed;
    bool careful;
    uint64_t window_at; /* first address held in the window, valid when careful and window_bytes > 0 */
    uint32_t window_bytes;
    uint8_t window[SIG_READER_WINDOW_BYTES];
};

static inline void sig_reader_init(struct sig_reader *reader, const struct sig_module *module, uint64_t at,
                                   bool careful)
{
    reader->at = at;
    reader->end = module->cfi_high;
    reader->shift = module->cfi_shift;
    reader->failed = at < module->cfi_low || at > module->cfi_high;
    reader->careful = careful;
    reader->window_bytes = 0;
}

static inline bool sig_reader_fill_window(struct sig_reader *reader)
{
    uint64_t left = reader->end - reader->at;
    uint32_t bytes = left < SIG_READER_WINDOW_BYTES ? (uint32_t)left : SIG_READER_WINDOW_BYTES;
    reader->window_bytes = 0;
    if (!sig_memory_copy(reader->window, reader->at + (uint64_t)reader->shift, bytes))
        return false;
    reader->window_at = reader->at;
    reader->window_bytes = bytes;
    return true;
}

static inline uint8_t sig_read_u8(struct sig_reader *reader)
{
    if (reader->failed || reader->at >= reader->end) {
        reader->failed = true;
        return 0;
    }
    if (!reader->careful)
        return *(const uint8_t *)(uintptr_t)(reader->at++ + (uint64_t)reader->shift);
    bool held = reader->window_bytes > 0 && reader->at >= reader->window_at &&
                reader->at < reader->window_at + reader->window_bytes;
    if (!held && !sig_reader_fill_window(reader)) {
        reader->failed = true;
        return 0;
    }
    return reader->window[reader->at++ - reader->window_at];
}

static inline uint64_t sig_read_fixed(struct sig_reader *reader, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)sig_read_u8(reader) << (8 * i);
    return value;
}

/* A LEB128 number without its sign, and how many bits were read. */
static inline uint64_t sig_read_leb128(struct sig_reader *reader, unsigned *ret_bits)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = sig_read_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        *ret_bits = shift + 7;
        if (!(byte & 0x80))
            return value;
    }
    reader->failed = true;
    return 0;
}

static inline uint64_t sig_read_uleb128(struct sig_reader *reader)
{
    unsigned ignored;
    return sig_read_leb128(reader, &ignored);
}

static inline int64_t sig_read_sleb128(struct sig_reader *reader)
{
    unsigned bits;
    uint64_t value = sig_read_leb128(reader, &bits);
    if (!reader->failed && bits < 64 && (value >> (bits - 1) & 1))
        value |= ~(uint64_t)0 << bits;
    return (int64_t)value;
}

static inline uint64_t sig_read_encoded_value(struct sig_reader *reader, uint8_t format)
{
    switch (format) {
    case SIG_PE_ABSPTR:
    case SIG_PE_UDATA8:
    case SIG_PE_SDATA8:
        return sig_read_fixed(reader, 8);
    case SIG_PE_ULEB128:
        return sig_read_uleb128(reader);
    case SIG_PE_SLEB128:
        return (uint64_t)sig_read_sleb128(reader);
    case SIG_PE_UDATA2:
        return sig_read_fixed(reader, 2);
    case SIG_PE_SDATA2:
        return (uint64_t)(int64_t)(int16_t)sig_read_fixed(reader, 2);
    case SIG_PE_UDATA4:
        return sig_read_fixed(reader, 4);
    case SIG_PE_SDATA4:
        return (uint64_t)(int64_t)(int32_t)sig_read_fixed(reader, 4);
    default:
        reader->failed = true;
        return 0;
    }
}

/* A pointer in one of the encodings that occur: absolute, relative to itself, or to data_base. */
static inline uint64_t sig_read_encoded(struct sig_reader *reader, uint8_t encoding, uint64_t data_base)
{
    if (encoding == SIG_PE_OMIT)
        return 0;
    uint64_t self = reader->at;
    uint64_t value = sig_read_encoded_value(reader, encoding & SIG_PE_FORMAT_MASK);
    switch (encoding & SIG_PE_APPLICATION_MASK) {
    case SIG_PE_ABSPTR:
        return value;
    case SIG_PE_PCREL:
        return self + value;
    case SIG_PE_DATAREL:
        return data_base + value;
    default:
        reader->failed = true;
        return 0;
    }
}

#endif
