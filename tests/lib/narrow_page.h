/* A page that is written with ever more memory: too little of it is an error, and nothing else. */
#ifndef WALLPROF_NARROW_PAGE_H
#define WALLPROF_NARROW_PAGE_H

#include "profile/profile.h"

/* At some of the sizes there is too little. directory: where the page is written. The test is skipped where
 * memory cannot be kept short. */
void narrow_page_assert(const struct profile *profile, int directory);

#endif
