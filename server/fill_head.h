/* SPDX-License-Identifier: ISC */

/*
 * What a FILL says before its value, once it was checked.  Workers.
 */
#ifndef FILL_HEAD_H
#define FILL_HEAD_H

#include "lease.h"
#include "protocol.h"

struct fill_head {
	struct wire_end	end;
	struct lease_fill fill;		/* for entry_spec.fill */
};

#endif
