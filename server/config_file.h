/* SPDX-License-Identifier: ISC */

/*
 * The file of the configuration as a text.  The supervisor alone.
 */
#ifndef CONFIG_FILE_H
#define CONFIG_FILE_H

/*
 * The whole file with a zero behind, to be freed.  NULL with errno: it is
 * no plain file, too long, has a zero byte, or cannot be read.
 */
char	*config_file_read(const char *path);

#endif
