/* This release, as files and messages call it. CHANGELOG.md says what a version promises. The Makefile reads
 * it here. */
#ifndef WALLPROF_VERSION_H
#define WALLPROF_VERSION_H

#define WALLPROF_VERSION "1.0.0"

#endif
