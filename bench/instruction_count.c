/* SPDX-License-Identifier: ISC */

/*
 * callgrind prints "==PID== Collected : N" at the end of every process;
 * the one that called the function has the N that is not 0.
 */
#include "instruction_count.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t
instruction_count(const char *option, const char *function)
{
	char path[4096], command[sizeof(path) + 512], line[512];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	uint64_t most = 0;
	FILE *output;

	if (length <= 0) {
		return 0;
	}
	path[length] = '\0';
	(void)snprintf(command, sizeof(command), "valgrind --tool=callgrind "
	    "--callgrind-out-file=/dev/null --toggle-collect=%s '%s' %s 2>&1",
	    function, path, option);
	output = popen(command, "re");
	while (output != NULL && fgets(line, sizeof(line), output) != NULL) {
		const char *found = strstr(line, "Collected : ");
		uint64_t count = found == NULL ? 0 :
		    strtoull(found + strlen("Collected : "), NULL, 10);

		most = count > most ? count : most;
	}
	return output != NULL && pclose(output) == 0 ? most : 0;
}
