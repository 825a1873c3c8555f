import { enableCompileCache, setSourceMapsSupport } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

/**
 * V8 sizes heaps by the machine's memory. On a large machine, V8 lets the young generation grow to 128 MB before a collection, and the old generation to
 * several times its live size. These sizes suit an API, which must keep responding. Background work mostly waits, with a thousand open connections, so a
 * worker collects early instead. The flags are set before the modules are loaded, because loading produces more garbage than the work afterwards.
 */
setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--heap-growing-percent=30');
// Optimizes for size, as for a background page: garbage from startup is collected soon, and little memory is reserved in advance (11 MB).
setFlagsFromString('--optimize-for-size');
// Disables the baseline compiler. Its code takes 11 MB, mostly for startup, and does not benefit background work.
setFlagsFromString('--no-sparkplug');
// Maps stack traces to source lines. Overrides the command line, because the source maps of packages would take another 30 MB.
setSourceMapsSupport(true, { nodeModules: false });
// The build creates the cache with these flags, because V8 rejects code that was compiled with different flags.
enableCompileCache(join(import.meta.dirname, 'compile-cache'));

const { start, startWorker } = await import('./start.js');
await start(startWorker);
