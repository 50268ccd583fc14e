/*
 * Finds variables, and reads their text: numbers, percentages, sizes, times and signals. Pure functions;
 * false or 0 for a text that is not one.
 */
#ifndef WALLPROF_CONFIG_VALUES_H
#define WALLPROF_CONFIG_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PERCENT_PPM = 10000, WORDS_TEXT_BYTES = 128 };

/* The value of a variable in an environment (environ's form), or NULL. */
const char *value_in(char *const *environment, const char *name);

/* A whole number without sign or blanks; false for anything else, overflow included. */
bool parse_number(const char *text, uint64_t *ret);

/* From 0 to 100, with at most four digits after the point: 1, 0.5, 12.3456, 3%. */
bool parse_percentage(const char *text, uint64_t *ret_ppm);

/* 1M to 32G: a number of bytes, or with K, M, G, KB, KiB and so on. */
bool parse_size(const char *text, uint64_t *ret_bytes);

/* 500ms, 30s, 10m, 1h; a bare number is seconds. False for more than 10,000 hours, too. */
bool parse_span(const char *text, uint64_t *ret_ns);

/* PROF, SIGPROF, 27, RTMIN+3, RTMAX-2; 0 for another text. */
int parse_signal(const char *text);

/* False for signals whose handler cannot be set, that tell of a fault, or that job control needs. */
bool is_usable_signal(int number);

/* The index of a word of this length among words with blanks between them, or -1. */
int find_word(const char *words, const char *word, size_t length);

/* "0 1 pprof" -> "0, 1 or pprof" */
void list_words(const char *words, char ret[WORDS_TEXT_BYTES]);

#endif
