/* SPDX-License-Identifier: ISC */

/*
 * What a daemon that is no more left in its file of permits, put into the
 * control segment of this one.  The supervisor, before it has children.
 */
#ifndef PERMIT_RESTORE_H
#define PERMIT_RESTORE_H

#include "permit_file.h"

/*
 * old is a whole file of this run of the kernel; what its entries say is not
 * known to make sense.  file is new and empty.
 */
void	permit_restore(struct permit_file_head *old,
    struct permit_file_head *file, struct control *control,
    struct boot_ms now, struct permit_file_counts *counts);

#endif
