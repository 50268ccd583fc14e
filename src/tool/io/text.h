/*
 * Numbers and names as a terminal shows them.
 *
 * Names come from files and may hold anything. Control characters, escapes and what a terminal cannot show
 * become '?'. Text is written as UTF-8 and counted in columns. A character takes 0 to 2 of them.
 *
 * Called from: the commands, after text_init.
 */
#ifndef WALLPROF_TEXT_H
#define WALLPROF_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TEXT_NUMBER_BYTES = 32, TEXT_DEFAULT_COLUMNS = 80 };

/* Sets the locale in which the C library counts the columns of UTF-8. */
void text_init(void);

/* The width that COLUMNS or the terminal says; TEXT_DEFAULT_COLUMNS without either. */
int text_columns(FILE *stream);

/* "auto", "always" or "never"; false for another word. auto: on a terminal, unless NO_COLOR is set. */
bool text_colour_of_word(const char *word, FILE *stream, bool *ret);

/* Where a text that is too long is cut; an ellipsis marks it. */
enum text_cut { TEXT_CUT_END, TEXT_CUT_MIDDLE, TEXT_CUT_BEGIN };

int text_width(const char *text);

/* Writes at most `columns` columns of a text, or all of it if that is negative. Returns how many it wrote. */
int text_put(FILE *stream, const char *text, int columns, enum text_cut cut);

/* Writes lines of at most `columns` columns (0: one line), broken at blanks. Later lines are indented by two.
 */
void text_put_wrapped(FILE *stream, const char *text, int columns);

/* Pad with blanks to that width: text_put_left after the text, which is cut as by text_put, text_put_number
 * before the number, which is never cut. */
void text_put_left(FILE *stream, const char *text, int columns, enum text_cut cut);
void text_put_number(FILE *stream, const char *number, int columns);

/* Three digits, rounded, and a unit: "1.23 s", "45.6 ms", "789 ns"; "0" for 0. */
void text_time(char ret[TEXT_NUMBER_BYTES], uint64_t ns);

/* The same for a measure of another program's profile: "nanoseconds" are time, "bytes" have units as "1.23
 * MB", and of anything else there is a number: "1.23 M". */
void text_amount(char ret[TEXT_NUMBER_BYTES], uint64_t value, const char *unit);

/* No more digits than an error allows, of the value and of its share; one if error_ns is UINT64_MAX. */
void text_time_within(char ret[TEXT_NUMBER_BYTES], uint64_t ns, uint64_t error_ns);
void text_share_within(char ret[TEXT_NUMBER_BYTES], uint64_t part, uint64_t whole, uint64_t error);

/* With a sign: "+1.23 s", "-45.6 ms", "0". */
void text_time_change(char ret[TEXT_NUMBER_BYTES], int64_t ns);

void text_time_change_within(char ret[TEXT_NUMBER_BYTES], int64_t ns, uint64_t error_ns);

/* "12.3%"; "" if whole is 0. */
void text_share(char ret[TEXT_NUMBER_BYTES], uint64_t part, uint64_t whole);

#endif
