/*
 * disk_layer - the facts that a qcow2 file tells of itself, in its first bytes.
 */
#ifndef CORE_MACHINE_VM_DISK_LAYER_H
#define CORE_MACHINE_VM_DISK_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"

/* The highest number of a folder's layers; -1: there are none. */
int layer_highest(const char *dir);
/* The size in bytes of the disk that a layer belongs to; -1 when the file is no qcow2. */
int64_t layer_size(const char *path);
/* Returns the absolute path, without links, of the layer on which this one is based;
 * NULL: none. */
const char *layer_below(struct arena *a, const char *path);
/* Whether nothing was ever written to the layer. */
bool layer_is_empty(const char *path);
/* The number in the name NUMBER.qcow2, or -1. */
int layer_number(const char *name);

#endif
