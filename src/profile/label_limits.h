/* How large the labels of a sample can be. Who makes labels and who reads profiles keep to it. */
#ifndef WALLPROF_LABEL_LIMITS_H
#define WALLPROF_LABEL_LIMITS_H

enum {
    LABELS_KEY_BYTES = 64,    /* with the terminator */
    LABELS_VALUE_BYTES = 256, /* with the terminator */
    LABELS_DEPTH_MAX = 16     /* labels of one sample */
};

#endif
