#include "idle.h"
#include "name_match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void idle_setting_read(struct idle_setting *ret)
{
    const char *said = getenv("WALLPROF_IDLE");
    char *rest;
    *ret = (struct idle_setting){.shows = false};
    snprintf(ret->text, sizeof ret->text, "%s", said ? said : "");
    for (char *word = strtok_r(ret->text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (strcmp(word, "show") == 0 || strcmp(word, "hide") == 0)
            ret->shows = *word == 's';
        else if (ret->pattern_count < IDLE_PATTERNS_MAX)
            ret->patterns[ret->pattern_count++] = word;
    }
}

bool idle_setting_has(const struct idle_setting *setting, const char *function)
{
    char name[512];
    for (int i = 0; i < setting->pattern_count; i++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(function, "("), function);
        if (name_match(setting->patterns[i], function) || name_match(setting->patterns[i], name))
            return true;
    }
    return false;
}

bool idle_is_shown(void)
{
    struct idle_setting setting;
    idle_setting_read(&setting);
    return setting.shows;
}
