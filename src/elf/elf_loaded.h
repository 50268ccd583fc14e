/*
 * A loaded object as an ELF image, to name the object's functions when its file is gone.
 *
 * Section headers are not loaded, but everything the loader itself needs is: the exported functions' symbols,
 * their strings, and a hash table that tells how many symbols there are. The image's sections are made from
 * these: .dynsym and .dynstr, the executable segments as code, the notes. So all code that reads images can
 * read this one.
 *
 * The object can be unloaded meanwhile, and other data be mapped in its place. So it is read through the
 * kernel, and the caller compares the build-id (elf_image_has_build_id).
 *
 * Called from: the exporting thread. Allocates scratch memory only.
 * Standard: System V gABI chapter 5, Dynamic Section; DT_GNU_HASH as binutils' bfd/elflink.c writes it.
 */
#ifndef WALLPROF_ELF_LOADED_H
#define WALLPROF_ELF_LOADED_H

#include "elf_image.h"

/*
 * low, high: the object's bounds as run-time addresses; the ELF header is at low. load_bias: run-time address
 * minus address in the file. 0; or -errno with nothing held: -ENOEXEC for no ELF header at low, -ENOENT for
 * no dynamic symbols, -ENOMEM. elf_image_deinit releases the image.
 */
int elf_loaded_open(struct elf_image *image, uint64_t load_bias, uint64_t low, uint64_t high);

#endif
