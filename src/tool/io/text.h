/*
 * Numbers and names as a terminal shows them.
 *
 * Names come from files and may hold anything: what a terminal would obey (control characters, escapes) or
 * cannot show becomes '?'. Text is written as UTF-8, and counted in columns, of which a character takes 0
 * to 2.
 *
 * Called from: the commands, after text_init.
 */
#ifndef WALLPROF_TOOL_TEXT_H
#define WALLPROF_TOOL_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TEXT_NUMBER_BYTES = 32, TEXT_DEFAULT_COLUMNS = 80 };

/* Has the C library count UTF-8's columns. */
void text_init(void);

/* As wide as COLUMNS or the terminal says; TEXT_DEFAULT_COLUMNS where it is none. */
int text_columns(FILE *stream);

/* "auto", "always" or "never": false for another word. auto is: on a terminal, unless NO_COLOR is set. */
bool text_colour_of_word(const char *word, FILE *stream, bool *ret);

/* Where a text that is too long loses what, with an ellipsis instead. */
enum text_cut { TEXT_CUT_END, TEXT_CUT_MIDDLE, TEXT_CUT_BEGIN };

int text_width(const char *text);

/* Writes at most so many columns of a text, all of it if columns is negative; returns how many. */
int text_put(FILE *stream, const char *text, int columns, enum text_cut cut);

/* Lines of at most so many columns (0: one line), broken at blanks; those after the first begin with two. */
void text_put_wrapped(FILE *stream, const char *text, int columns);

/* As text_put, with blanks before it or behind it up to that width. A number is never cut. */
void text_put_left(FILE *stream, const char *text, int columns, enum text_cut cut);
void text_put_number(FILE *stream, const char *number, int columns);

/* Three digits and a unit: "1.23 s", "45.6 ms", "789 ns"; "0". Rounded, for people. */
void text_time(char ret[TEXT_NUMBER_BYTES], uint64_t ns);

/* With a sign: "+1.23 s", "-45.6 ms", "0". */
void text_time_change(char ret[TEXT_NUMBER_BYTES], int64_t ns);

/* "12.3%"; "" of nothing. */
void text_share(char ret[TEXT_NUMBER_BYTES], uint64_t part, uint64_t whole);

#endif
