/* SPDX-License-Identifier: ISC */

/*
 * Does a cache keep its origin alive under load?  Hits at half of what goes,
 * many expiries at once, a flood that no cache helps against, an origin that
 * becomes slow, and the cost of a large pool.  Clients go through
 * weir_fetch(); what the origin sees, it counts itself.
 */
#include "load.h"

int
main(int argc, char **argv)
{
	struct bench *b = bench_create("load", argc, argv);

	bench_add_setting(b, "origin", "so many places, log-normal service "
	    "time, sigma %.1f; body of %u B", LOAD_SIGMA, LOAD_BODY_BYTES);
	bench_add_setting(b, "expiry", "10,000 keys, 60 s to live less "
	    "jitter, limit and partition_limit 32, origin 32 at 5 ms, 64 "
	    "workers, 4000/s for 80 s");
	bench_add_setting(b, "flood", "partition_limit 8, queue 1024, limit "
	    "64, origin 64 at 5 ms; 200 keys at 500/s for 20 s, then beside "
	    "5000/s from up to 2000 threads");
	bench_add_setting(b, "brownout", "200 keys, 2 s and 600 s stale on "
	    "error, limit 32, queue_wait 100 ms, breaker 20 calls in 2 s, "
	    "open 1 to 2 s; origin 32 at 5 ms, 100 ms for 30 s, given up "
	    "after 80 ms; 2000/s");
	bench_add_setting(b, "sleeps", "timer slack of 1 ns in the clients");
	load_measure_steady(b);
	load_measure_scale(b);
	load_measure_flood(b);
	load_measure_brownout(b);
	load_measure_expiry(b);
	bench_skip_bar(b, "store_flap_client_errors", "there is no store "
	    "behind the pool");
	bench_add_limit(b, "A store that fails half of the time: there is "
	    "no store behind the pool.");
	bench_add_limit(b, "Clients, daemon and origin share the cores: "
	    "latencies have their share of each other's work.");
	bench_add_limit(b, "A virtual machine that is stopped for "
	    "milliseconds makes late what was due meanwhile: p99 is over "
	    "all, median_p99 the median over windows, of which most have no "
	    "stop. The row with idle work in the place of requests has the "
	    "stops too, and nothing of the cache.");
	bench_add_limit(b, "Cost at scale comes from processes that spin: "
	    "how long a sleeping one takes to wake is not in it. It is in "
	    "steady hits, and most of them; the row with idle work shows "
	    "how much.");
	return bench_finish(b);
}
